/** What the server part and the kernel send, checked field by field: nothing that came over the wire is trusted by its type. */

export interface IVersionAnswer {
  readonly version: string;
}

/** Reads the body of `GET rocmtx/version`; null when it is something else. */
export function readVersion(body: unknown): IVersionAnswer | null {
  if (!isRecord(body)) {
    return null;
  }
  const version = body['version'];
  return typeof version === 'string' && version !== '' ? { version } : null;
}

/** No cell that rocmtx writes comes near it; what is larger is a mistake. */
export const LARGEST_CELL = 100_000;

/** Reads the data of a comm that asks for a new cell; null when it is something else, or more than 100 kB of UTF-8. */
export function readCell(data: unknown): string | null {
  const source = isRecord(data) ? data['source'] : null;
  if (typeof source !== 'string' || source.length > LARGEST_CELL) {
    return null;
  }
  return new TextEncoder().encode(source).length > LARGEST_CELL ? null : source;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
