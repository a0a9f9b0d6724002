// Numbers to text, with the same words as src/rocmtx/units.py.

export { bytesText } from '../src/units';

/** Writes a plain number such as a loss with four significant digits. */
export function numberText(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) {
    return 'unknown';
  }
  return String(Number(value.toPrecision(4)));
}

/** Writes Unix seconds as a time of the day. */
export function clockText(seconds: number): string {
  const date = new Date(seconds * 1000);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(part => String(part).padStart(2, '0')).join(':');
}

/** The steps of a time axis: whole seconds, minutes, hours. */
export const TIME_STEPS: number[] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400];

/** The steps of an axis of step numbers: whole ones. */
export const COUNT_STEPS: number[] = [1, 2, 5].flatMap(factor => Array.from({ length: 9 }, (_, at) => factor * 10 ** at)).sort((a, b) => a - b);

/** The steps of a byte axis: powers of two, so that ticks are round in KiB, MiB and GiB. */
export const BYTE_STEPS: number[] = Array.from({ length: 51 }, (_, at) => 2 ** at);
