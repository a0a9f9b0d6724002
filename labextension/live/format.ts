// Numbers to text, with the same words as src/rocmtx/units.py.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Writes bytes in binary units: 1610612736 -> "1.5 GiB"; what was not measured is "unknown". */
export function bytesText(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) {
    return 'unknown';
  }
  let size = value;
  let at = 0;
  let digits = 0;
  // The unit is chosen for the number that is shown: 1023.97 MiB reads as 1.0 GiB.
  while (Number(Math.abs(size).toFixed(digits)) >= 1024 && at < UNITS.length - 1) {
    size /= 1024;
    at += 1;
    digits = at > 1 ? 1 : 0;
  }
  return `${size.toFixed(digits)} ${UNITS[at] ?? ''}`;
}

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
