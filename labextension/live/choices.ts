// The pickers of the panel: device, dtype, attention, quantization. Closed, each says what is taken and why; open, every
// entry says whether it works here and why. An entry that does not work stays readable and can be asked about.
import type { IModel, IRender } from './widget';

interface IEntry {
  readonly value: string;
  readonly label: string;
  readonly answer: 'yes' | 'no' | 'not known';
  readonly because: string;
  readonly fix: string;
}

interface IGroup {
  readonly name: string;
  readonly title: string;
  /** What is taken now, said in the closed picker; its verdict is that of the plan. */
  readonly now: IEntry;
  readonly entries: readonly IEntry[];
}

const SIGNS = { yes: '✓', no: '⊘', 'not known': '?' } as const;
const WORDS = { yes: 'works', no: 'no', 'not known': 'not known' } as const;
const CLASSES = { yes: 'yes', no: 'no', 'not known': 'unknown' } as const;
/** So many impossible entries are shown among the others; more are folded away. */
const FEW = 3;
let pickers = 0;

class Picker {
  constructor(
    host: HTMLElement,
    private readonly name: string,
    private readonly choose: (name: string, value: string) => void
  ) {
    pickers += 1;
    this.group = `rocmtx-${name}-${String(pickers)}`;
    this.root = host.appendChild(document.createElement('details'));
    this.root.className = 'rocmtx-picker';
    this.summary = this.root.appendChild(document.createElement('summary'));
    this.list = this.root.appendChild(document.createElement('fieldset'));
    this.list.addEventListener('change', event => {
      if (event.target instanceof HTMLInputElement) {
        this.choose(this.name, event.target.value);
      }
    });
  }

  draw(group: IGroup, chosen: string): void {
    const key = JSON.stringify([group, chosen]);
    if (key === this.drawn) {
      return;
    }
    this.drawn = key;
    const focused = this.list.contains(document.activeElement);
    const unfolded = this.list.querySelector('details')?.open ?? false;
    this.summary.replaceChildren(
      text('span', 'rocmtx-title', group.title),
      text('b', '', group.now.label),
      verdict(group.now),
      text('small', '', reason(group.now))
    );
    this.list.replaceChildren(text('legend', '', group.title), ...this.entries(group, chosen, unfolded));
    if (focused) {
      this.list.querySelector<HTMLInputElement>('input:checked')?.focus();
    }
  }

  private entries(group: IGroup, chosen: string, unfolded: boolean): HTMLElement[] {
    const possible = group.entries.filter(entry => entry.answer !== 'no');
    const impossible = group.entries.filter(entry => entry.answer === 'no');
    if (impossible.length <= FEW) {
      return group.entries.map(entry => this.entry(entry, chosen));
    }
    const more = document.createElement('details');
    more.open = unfolded || impossible.some(entry => entry.value === chosen);
    more.append(
      text('summary', '', `${String(impossible.length)} that do not work here, and why`),
      ...impossible.map(entry => this.entry(entry, chosen))
    );
    return [...possible.map(entry => this.entry(entry, chosen)), more];
  }

  private entry(entry: IEntry, chosen: string): HTMLElement {
    const label = document.createElement('label');
    label.className = `rocmtx-entry rocmtx-is-${CLASSES[entry.answer]}`;
    const radio = label.appendChild(document.createElement('input'));
    radio.type = 'radio';
    radio.name = this.group;
    radio.value = entry.value;
    radio.checked = entry.value === chosen;
    const why = text('small', '', reason(entry));
    why.id = `${this.group}-${entry.value}`;
    radio.setAttribute('aria-label', `${entry.label}: ${WORDS[entry.answer]}`);
    radio.setAttribute('aria-describedby', why.id);
    label.append(text('span', '', entry.label), verdict(entry), why);
    return label;
  }

  private readonly group: string;
  private readonly root: HTMLDetailsElement;
  private readonly summary: HTMLElement;
  private readonly list: HTMLFieldSetElement;
  private drawn = '';
}

function text(tag: string, name: string, content: string): HTMLElement {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = content;
  return element;
}

function verdict(entry: IEntry): HTMLElement {
  return text('span', `rocmtx-verdict ${CLASSES[entry.answer]}`, `${SIGNS[entry.answer]} ${WORDS[entry.answer]}`);
}

function reason(entry: IEntry): string {
  return entry.fix ? `${entry.because} → ${entry.fix}` : entry.because;
}

const render: IRender = ({ model, el }) => {
  el.classList.add('rocmtx', 'rocmtx-choices');
  const pickers = new Map<string, Picker>();
  const choose = (name: string, value: string): void => {
    model.set('chosen', { ...(model.get('chosen') as Record<string, string>), [name]: value });
    model.save_changes();
  };
  const draw = (): void => {
    const chosen = model.get('chosen') as Record<string, string>;
    for (const group of model.get('groups') as IGroup[]) {
      const picker = pickers.get(group.name) ?? new Picker(el, group.name, choose);
      pickers.set(group.name, picker);
      picker.draw(group, chosen[group.name] ?? '');
    }
  };
  model.on('change:groups', draw);
  model.on('change:chosen', draw);
  draw();
  return () => {
    model.off('change:groups', draw);
    model.off('change:chosen', draw);
    el.replaceChildren();
  };
};

export default { render } satisfies { render: (context: { model: IModel; el: HTMLElement }) => () => void };
