import { ServerConnection } from '@jupyterlab/services';
import { describe, expect, it } from 'vitest';

import { get } from '../request';

type Reply = (request: Request) => Promise<Response>;

function settings(reply: Reply): ServerConnection.ISettings {
  return ServerConnection.makeSettings({
    baseUrl: 'http://hub.test/user/ada/',
    token: 'secret',
    appendToken: false,
    Request,
    Headers,
    fetch: input => reply(input as Request)
  });
}

function answer(text: string, init: ResponseInit = {}): Reply {
  return () => Promise.resolve(new Response(text, init));
}

describe('get', () => {
  it("asks below the server's base URL, with its token", async () => {
    const asked: Request[] = [];
    const outcome = await get(
      settings(request => {
        asked.push(request);
        return answer('{"version":"1.2.3"}')(request);
      }),
      'version'
    );
    expect(outcome).toEqual({ kind: 'ok', body: { version: '1.2.3' } });
    expect(asked.map(request => [request.method, request.url])).toEqual([
      ['GET', expect.stringMatching(/^http:\/\/hub\.test\/user\/ada\/rocmtx\/version(\?\d+)?$/)]
    ]);
    expect(asked[0]?.headers.get('Authorization')).toBe('token secret');
  });

  it('hands on the status of a refusal', async () => {
    const outcome = await get(settings(answer('{}', { status: 404, statusText: 'Not Found' })), 'version');
    expect(outcome).toEqual({ kind: 'status', status: 404, reason: 'Not Found' });
  });

  it('calls a page that is no JSON unreadable', async () => {
    const outcome = await get(settings(answer('<html>log in</html>')), 'version');
    expect(outcome).toEqual({ kind: 'unreadable', reason: expect.stringContaining('JSON') as string });
  });

  it('calls a dead server unreachable', async () => {
    const outcome = await get(
      settings(() => Promise.reject(new TypeError('fetch failed'))),
      'version'
    );
    expect(outcome).toEqual({ kind: 'unreachable', reason: 'fetch failed' });
  });

  it('gives up on a server that never answers', async () => {
    const held: Request[] = []; // as a real fetch holds it; else it may be collected before it is aborted
    const never: Reply = request =>
      new Promise((_, reject) => {
        held.push(request);
        request.signal.addEventListener('abort', () => {
          reject(request.signal.reason as Error);
        });
      });
    const outcome = await get(settings(never), 'version', 20);
    expect(outcome).toEqual({ kind: 'unreachable', reason: 'no answer within 0.02 s' });
  });
});
