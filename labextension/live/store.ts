// What the kernel sent, as a model without a view: the answer, the loss, the memory, and the number of the last message.
// Messages are appended in order; one that is missing makes the store ask for everything again.

/** A time (Unix seconds) and what happened then. */
export type Mark = readonly [number, string];

/** One message of the kernel. Absent fields did not change. `b` names the buffers in their order. */
export interface IMessage {
  /** "r" replaces everything, "a" appends. */
  readonly k: 'r' | 'a';
  /** The number of the message; one more than the one before. */
  readonly s: number;
  /** The names of the memory lines, and of the loss lines. */
  readonly lines?: readonly string[];
  readonly losses?: readonly string[];
  readonly marks?: readonly Mark[];
  readonly prompt?: string;
  /** The whole answer, or with `add` what comes after it. */
  readonly text?: string;
  readonly add?: string;
  readonly speed?: string;
  readonly training?: string;
  readonly memory?: string;
  readonly status?: string;
  /** How far the running task is, 0–1; -1 for a task of unknown length, null for none. */
  readonly share?: number | null;
  /** What happened and what to type, or empty to take it away. */
  readonly error?: Said;
  readonly warning?: Said;
  readonly b?: readonly ('m' | 'l')[];
}

/** A message and its hint. */
export type Said = readonly [string, string] | readonly [];

/** Columns of a table: the axis first, then one column per line; NaN is a gap. */
export type Columns = number[][];

const MOST_MARKS = 500;

export class Store {
  constructor(private readonly capacity: number) {}

  lines: readonly string[] = [];
  losses: readonly string[] = [];
  marks: Mark[] = [];
  prompt: string | null = null;
  text = '';
  speed = '';
  training: string | null = null;
  memory = '';
  status = '';
  share: number | null = null;
  error: Said = [];
  warning: Said = [];
  memoryColumns: Columns = [[]];
  lossColumns: Columns = [[]];

  /** Takes a message in. False when one before it is missing: then nothing is changed, and a sync is needed. */
  take(message: IMessage, buffers: readonly DataView[] = []): boolean {
    if (message.k === 'r') {
      this.clear();
    } else if (message.s !== this.last + 1) {
      return false;
    }
    this.last = message.s;
    this.takeNames(message);
    this.takeTexts(message);
    (message.b ?? []).forEach((name, at) => {
      const buffer = buffers[at];
      if (buffer) {
        append(name === 'm' ? this.memoryColumns : this.lossColumns, floats(buffer), this.capacity);
      }
    });
    return true;
  }

  private clear(): void {
    this.lines = [];
    this.losses = [];
    this.marks = [];
    this.prompt = null;
    this.text = '';
    this.speed = '';
    this.training = null;
    this.memory = '';
    this.status = '';
    this.share = null;
    this.error = [];
    this.warning = [];
    this.memoryColumns = [[]];
    this.lossColumns = [[]];
  }

  private takeNames(message: IMessage): void {
    if (message.lines) {
      this.lines = message.lines;
      this.memoryColumns = emptied(message.lines.length);
    }
    if (message.losses) {
      this.losses = message.losses;
      this.lossColumns = emptied(message.losses.length);
    }
    this.marks.push(...(message.marks ?? []));
    this.marks.splice(0, this.marks.length - MOST_MARKS);
  }

  private takeTexts(message: IMessage): void {
    this.prompt = message.prompt ?? this.prompt;
    this.text = (message.text ?? this.text) + (message.add ?? '');
    this.speed = message.speed ?? this.speed;
    this.training = message.training ?? this.training;
    this.memory = message.memory ?? this.memory;
    this.status = message.status ?? this.status;
    this.share = message.share === undefined ? this.share : message.share;
    this.error = message.error ?? this.error;
    this.warning = message.warning ?? this.warning;
  }

  private last = -1;
}

function emptied(lines: number): Columns {
  return Array.from({ length: lines + 1 }, () => []);
}

/** Reads little-endian float64 values; the buffer need not be aligned. */
export function floats(buffer: DataView): Float64Array {
  return new Float64Array(buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength) as ArrayBuffer);
}

/**
 * Appends rows of [axis, line 1 … line n], and drops the oldest ones above the capacity. A row at the place of the one
 * before completes it: a loss and a held-out loss of the same step come separately.
 */
function append(columns: Columns, rows: Float64Array, capacity: number): void {
  const width = columns.length;
  for (let row = 0; row + width <= rows.length; row += width) {
    const again = columns[0]?.at(-1) === rows[row];
    columns.forEach((column, at) => {
      const value = rows[row + at] ?? NaN;
      if (!again) {
        column.push(value);
      } else if (!Number.isNaN(value)) {
        column[column.length - 1] = value;
      }
    });
  }
  const surplus = (columns[0]?.length ?? 0) - capacity;
  if (surplus > 0) {
    columns.forEach(column => column.splice(0, surplus));
  }
}
