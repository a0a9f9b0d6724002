// The side panel: what it shows of a machine, what stays when numbers change, and that it watches only while it is seen.
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { Panel, Widget } from '@lumino/widgets';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { gpusPlugin } from '../plugins/gpus';
import type { IMachine, IMachineState } from '../tokens';
import { CommandIDs } from '../tokens';
import { GpusPanel } from '../view/gpuspanel';
import { readFacts, readSessions } from '../wirefacts';
import { contract, machine } from './recorded';

const trans = nullTranslator.load('rocmtx');

/** A machine that a test fills. */
class Written implements IMachine {
  show(state: Partial<IMachineState>): void {
    this.state = { ...this.state, ...state };
    this.changed.emit(this.state);
  }

  dispose(): void {
    this.isDisposed = true;
  }

  readonly version = '1.0.0';
  state: IMachineState = { facts: null, sessions: [], trouble: null };
  watched = false;
  isDisposed = false;
  readonly changed = new Signal<this, IMachineState>(this);
}

function shown(name: string): { model: Written; panel: GpusPanel } {
  const model = new Written();
  const panel = new GpusPanel(model, trans);
  Widget.attach(panel, document.body);
  model.show({ facts: readFacts(machine(name)) });
  return { model, panel };
}

function texts(panel: GpusPanel, selector: string): string[] {
  return [...panel.node.querySelectorAll(selector)].map(node => node.textContent);
}

afterEach(() => {
  document.body.replaceChildren();
});

describe('GpusPanel', () => {
  it('has a card for each GPU, with its memory for screen readers too', () => {
    const { panel } = shown('mi300x-8');
    expect(texts(panel, 'h4')).toEqual(Array<string>(8).fill('AMD Instinct MI300X'));
    const bar = panel.node.querySelector('[role=meter]');
    expect(bar?.getAttribute('aria-label')).toBe('VRAM of AMD Instinct MI300X');
    expect(bar?.getAttribute('aria-valuenow')).toBe('297791488');
    expect(bar?.getAttribute('aria-valuetext')).toBe('284.0 MiB of 192.0 GiB');
    expect(texts(panel, '[role=status]')).toEqual(['Recorded machine: mi300x-8.']);
  });

  it('folds partitions away, with what they share said once', () => {
    const { panel } = shown('mi300x-8-cpx');
    expect(texts(panel, 'summary')).toEqual(Array<string>(8).fill('8 partitions, 8 visible'));
    const [card] = panel.node.querySelectorAll('.rtx-Gpu');
    expect([...(card?.querySelectorAll(':scope > p') ?? [])].map(node => node.textContent)).toEqual([
      'gfx942 · CPX/NPS1 · 0000:0c:00',
      'busy 0 % · 41 °C · 133 W of 750 W'
    ]);
    expect(card?.querySelectorAll('details li').length).toBe(8);
  });

  it('does not say the readings of one partition for the whole package', () => {
    const { model, panel } = shown('mi300x-8-cpx');
    const facts = model.state.facts;
    const gpus = facts?.gpus.map(gpu => ({ ...gpu, sharesReadings: false })) ?? [];
    model.show({ facts: facts && { ...facts, gpus } });
    expect(panel.node.textContent).not.toContain('busy');
    const [gpu] = gpus;
    model.show({ facts: facts && gpu ? { ...facts, gpus: [{ ...gpu, sharesReadings: true }] } : null });
    expect(panel.node.textContent).toContain('whole package: busy 0 %');
  });

  it('changes numbers in place, so that what a person opened stays open', () => {
    const { model, panel } = shown('mi300x-8-cpx');
    const details = panel.node.querySelector('details');
    details?.setAttribute('open', '');
    const facts = model.state.facts;
    model.show({ facts: facts && { ...facts, gpus: facts.gpus.map(gpu => ({ ...gpu, vramUsed: gpu.vramTotal })) } });
    expect(panel.node.querySelector('details')).toBe(details);
    expect(details?.hasAttribute('open')).toBe(true);
    expect(details?.querySelector('li')?.textContent).toContain('24.0 GiB of 24.0 GiB');
    model.show({ facts: readFacts(machine('strix-halo')) });
    expect(texts(panel, 'h4')).toEqual(['AMD Radeon 8060S']);
  });

  it('draws no bar where the memory is not known', () => {
    const { panel } = shown('no-driver');
    expect(panel.node.querySelector<HTMLElement>('[role=meter]')?.hidden).toBe(true);
    expect(panel.node.textContent).toContain('memory unknown');
  });

  it('lists the sessions that hold a model', () => {
    const { model, panel } = shown('mi300x-8');
    const sessions = (): string[] => texts(panel, 'ul:last-child > li');
    expect(sessions()).toEqual(['no model is loaded under your account']);
    model.show({ sessions: readSessions(contract('sessions')) ?? [] });
    expect(sessions()).toEqual([expect.stringMatching(/^demogenerating · cuda:0 · 3\.0 GiB of 192\.0 GiB/)]);
  });

  it('says what is wrong with the server, and that the numbers are old', () => {
    const { model, panel } = shown('mi300x-8');
    model.show({ trouble: { kind: 'absent' } });
    expect(texts(panel, '[role=status]')[0]).toMatch(/pip install rocmtx.* What is shown below is of before\.$/);
    expect(panel.hasClass('rtx-mod-old')).toBe(true);
    model.show({ trouble: null });
    expect(panel.hasClass('rtx-mod-old')).toBe(false);
  });

  it('watches while it is seen, in a side bar that is folded too', () => {
    const model = new Written();
    const [bar, panel] = [new Panel(), new GpusPanel(model, trans)];
    panel.hide();
    bar.addWidget(panel);
    Widget.attach(bar, document.body);
    expect(model.watched).toBe(false);
    panel.show();
    expect(model.watched).toBe(true);
    bar.hide();
    expect(model.watched).toBe(false);
    bar.show();
    expect(model.watched).toBe(true);
    panel.dispose();
    expect(model.watched).toBe(false);
    model.show({ trouble: { kind: 'absent' } });
    expect(panel.node.textContent).not.toContain('pip install');
  });
});

describe('the plugin', () => {
  it('adds the panel and its command, and takes both away', async () => {
    const shell = { add: vi.fn<(panel: Widget, area: string) => void>(), activateById: vi.fn() };
    const commands = new CommandRegistry();
    const app = { shell, commands } as unknown as JupyterFrontEnd;
    const restorer = { add: vi.fn() };
    const plugin = gpusPlugin();
    for (let round = 0; round < 2; round++) {
      await plugin.activate(app, new Written(), null, null, restorer);
      const [panel, area] = shell.add.mock.lastCall ?? [];
      expect([panel?.id, panel?.title.caption, area]).toEqual(['rocmtx-gpus', 'AMD GPUs', 'right']);
      expect(restorer.add).toHaveBeenLastCalledWith(panel, 'rocmtx-gpus');
      await commands.execute(CommandIDs.showGpus);
      expect(shell.activateById).toHaveBeenLastCalledWith('rocmtx-gpus');
      await plugin.deactivate?.(app);
      expect(panel?.isDisposed).toBe(true);
      expect(commands.hasCommand(CommandIDs.showGpus)).toBe(false);
    }
  });
});
