import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** The outcome of one request, so that no caller has to tell errors apart by their class or text. */
export type Answer =
  | { readonly kind: 'ok'; readonly body: unknown }
  | { readonly kind: 'status'; readonly status: number; readonly reason: string }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

const PATIENCE_MS = 10_000;

/**
 * Asks the server part: `GET <base>/rocmtx/<path>`.
 *
 * Never rejects. A server that does not answer within `patience` milliseconds is `unreachable`.
 */
export async function get(
  settings: ServerConnection.ISettings,
  path: string,
  patience = PATIENCE_MS
): Promise<Answer> {
  const url = URLExt.join(settings.baseUrl, 'rocmtx', path);
  const giveUp = new AbortController();
  const timer = setTimeout(() => {
    giveUp.abort(new Error(`no answer within ${(patience / 1000).toString()} s`));
  }, patience);
  let response: Response;
  try {
    response = await ServerConnection.makeRequest(url, { signal: giveUp.signal }, settings);
  } catch (error) {
    return { kind: 'unreachable', reason: reasonOf(error) };
  } finally {
    clearTimeout(timer);
  }
  if (!response.ok) {
    return { kind: 'status', status: response.status, reason: response.statusText };
  }
  try {
    return { kind: 'ok', body: (await response.json()) as unknown };
  } catch (error) {
    return { kind: 'unreadable', reason: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
