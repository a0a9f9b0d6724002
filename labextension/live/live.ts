// The live part of the panel: the answer as it is written, the loss, the memory. One widget, one message a refresh.
import { Chart } from './chart';
import { BYTE_STEPS, bytesText, clockText, COUNT_STEPS, numberText, TIME_STEPS } from './format';
import type { IMessage, Said } from './store';
import { Store } from './store';
import { onThemeChange } from './theme';
import type { IModel, IRender } from './widget';

const CHART_HEIGHT = 170;

class LiveView {
  constructor(
    private readonly store: Store,
    private readonly host: HTMLElement
  ) {
    host.classList.add('rocmtx', 'rocmtx-live');
    const status = host.appendChild(block('rocmtx-status'));
    this.status = status.appendChild(document.createElement('span'));
    // Announced when it changes: phases and results, never a number that moves.
    this.status.setAttribute('role', 'status');
    this.progress = status.appendChild(document.createElement('progress'));
    this.progress.setAttribute('aria-label', 'Progress');
    this.error = host.appendChild(block('rocmtx-error'));
    this.error.setAttribute('role', 'alert');
    this.warning = host.appendChild(block('rocmtx-warning'));
    this.answer = section(host, 'Answer');
    this.prompt = this.answer.body.appendChild(block('rocmtx-prompt'));
    this.text = this.answer.body.appendChild(block('rocmtx-answer'));
    this.loss = section(host, 'Loss');
    this.memory = section(host, 'Memory');
    this.stopTheme = onThemeChange(() => {
      this.lossChart?.recolour();
      this.memoryChart?.recolour();
    });
  }

  /** Asks for a redraw before the next frame; many messages in one frame are one redraw. */
  ask(): void {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.nameThePanel();
      this.draw();
    });
  }

  draw(): void {
    this.drawStatus();
    this.drawAnswer();
    this.drawLoss();
    this.drawMemory();
  }

  dispose(): void {
    if (this.frame !== null) {
      cancelAnimationFrame(this.frame);
    }
    this.stopTheme();
    this.lossChart?.dispose();
    this.memoryChart?.dispose();
    this.host.replaceChildren();
  }

  /** The box around us is made of core widgets, which cannot be given a name from Python. */
  private nameThePanel(): void {
    const panel = this.host.closest('.rocmtx-panel');
    panel?.setAttribute('role', 'region');
    panel?.setAttribute('aria-label', 'rocmtx');
  }

  private drawStatus(): void {
    const { status, share } = this.store;
    write(this.status, status);
    this.progress.hidden = share === null;
    if (share !== null && share >= 0) {
      this.progress.value = share;
    } else {
      this.progress.removeAttribute('value');
    }
    say(this.error, this.store.error);
    say(this.warning, this.store.warning);
  }

  private drawAnswer(): void {
    const { prompt, text, speed } = this.store;
    this.answer.root.hidden = prompt === null;
    this.answer.note.textContent = speed;
    write(this.prompt, prompt ?? '');
    // Appending to the text node keeps a selection, and costs what is new.
    const shown = this.text.firstChild instanceof Text ? this.text.firstChild : null;
    const follows = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 8;
    if (shown && text.startsWith(shown.data)) {
      shown.appendData(text.slice(shown.data.length));
    } else {
      this.text.textContent = text;
    }
    if (follows) {
      this.text.scrollTop = this.text.scrollHeight;
    }
  }

  private drawLoss(): void {
    const { training, losses, lossColumns } = this.store;
    this.loss.root.hidden = training === null;
    this.loss.note.textContent = training ?? '';
    if (names(losses) !== this.lossNames) {
      this.lossChart?.dispose();
      this.lossNames = names(losses);
      this.lossChart = losses.length
        ? new Chart(this.loss.body, {
            label: 'Loss over steps',
            height: CHART_HEIGHT,
            names: losses,
            writeX: step => (Number.isInteger(step) ? `step ${String(step)}` : ''),
            writeY: numberText,
            stepsX: COUNT_STEPS,
            joined: true
          })
        : null;
    }
    this.lossChart?.draw(lossColumns, [], training ?? '');
  }

  private drawMemory(): void {
    const { lines, memoryColumns, marks, memory } = this.store;
    this.memory.root.hidden = lines.length === 0;
    this.memory.note.textContent = memory;
    if (names(lines) !== this.memoryNames) {
      this.memoryChart?.dispose();
      this.memoryNames = names(lines);
      this.memoryChart = lines.length
        ? new Chart(this.memory.body, {
            label: 'Memory over time',
            height: CHART_HEIGHT,
            names: lines,
            writeX: clockText,
            writeY: bytesText,
            stepsX: TIME_STEPS,
            stepsY: BYTE_STEPS
          })
        : null;
    }
    this.memoryChart?.draw(memoryColumns, marks, memory);
  }

  private readonly status: HTMLElement;
  private readonly progress: HTMLProgressElement;
  private readonly error: HTMLElement;
  private readonly warning: HTMLElement;
  private readonly answer: ISection;
  private readonly prompt: HTMLElement;
  private readonly text: HTMLElement;
  private readonly loss: ISection;
  private readonly memory: ISection;
  private readonly stopTheme: () => void;
  private lossChart: Chart | null = null;
  private lossNames = '';
  private memoryChart: Chart | null = null;
  private memoryNames = '';
  private frame: number | null = null;
}

interface ISection {
  readonly root: HTMLElement;
  readonly note: HTMLElement;
  readonly body: HTMLElement;
}

function section(host: HTMLElement, title: string): ISection {
  const root = host.appendChild(document.createElement('section'));
  root.setAttribute('aria-label', title);
  root.hidden = true;
  const head = root.appendChild(block('rocmtx-head'));
  head.appendChild(document.createElement('h3')).textContent = title;
  const note = head.appendChild(document.createElement('span'));
  return { root, note, body: root.appendChild(block('rocmtx-body')) };
}

function block(name: string): HTMLElement {
  const element = document.createElement('div');
  element.className = name;
  return element;
}

/** Changes a text only when it differs, so that a screen reader is not told the same twice. */
function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

function say(element: HTMLElement, said: Said): void {
  const [message = '', hint = ''] = said;
  element.hidden = message === '';
  write(element, hint ? `${message}\n→ ${hint}` : message);
}

function names(list: readonly string[]): string {
  return list.join('\n');
}

/** One store per model, drawn by any number of views of it. */
export default (): { initialize: (context: { model: IModel }) => () => void; render: IRender } => {
  const views = new Set<LiveView>();
  let store = new Store(1);

  return {
    initialize({ model }) {
      store = new Store(model.get('capacity') as number);
      const stored = model.get('snap') as IMessage | Record<string, never>;
      if ('k' in stored) {
        store.take(stored as IMessage, model.get('snap_rows') as DataView[]);
      }
      const take = (message: IMessage, buffers: DataView[]): void => {
        if (!store.take(message, buffers)) {
          sync(model);
          return;
        }
        views.forEach(view => { view.ask(); });
      };
      model.on('msg:custom', take);
      sync(model);
      return () => { model.off('msg:custom', take); };
    },
    render({ el }) {
      const view = new LiveView(store, el);
      views.add(view);
      view.draw();
      view.ask();
      return () => {
        views.delete(view);
        view.dispose();
      };
    }
  };
};

/** Asks the kernel for everything. A page without a kernel keeps showing what was stored with it. */
function sync(model: IModel): void {
  try {
    model.send({ k: 'sync' });
  } catch {
    // There is no kernel behind a static page.
  }
}
