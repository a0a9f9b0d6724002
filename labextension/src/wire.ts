/** What the server part sends, checked field by field: nothing that came over the wire is trusted by its type. */

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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
