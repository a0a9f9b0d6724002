import { describe, expect, it } from 'vitest';

import { judge, ServerPart } from '../model/serverpart';
import type { Answer } from '../request';
import type { ServerState } from '../tokens';

const version = (text: string): Answer => ({ kind: 'ok', body: { version: text } });
const status = (code: number, reason: string): Answer => ({ kind: 'status', status: code, reason });

describe('judge', () => {
  it.each<[string, Answer, ServerState]>([
    ['the same version', version('1.0.0'), { kind: 'same', version: '1.0.0' }],
    ['another version', version('0.9.0'), { kind: 'other', version: '0.9.0' }],
    ['no such route', status(404, 'Not Found'), { kind: 'absent' }],
    ['not logged in', status(401, 'Unauthorized'), { kind: 'refused', status: 401 }],
    ['not allowed', status(403, 'Forbidden'), { kind: 'refused', status: 403 }],
    ['a broken server', status(500, 'Oops'), { kind: 'failed', reason: '500 Oops' }],
    ['a status without a text', status(502, ''), { kind: 'failed', reason: '502' }],
    ['an object without version', { kind: 'ok', body: {} }, { kind: 'failed', reason: 'the answer holds no version' }],
    ['a number', version(1 as unknown as string), { kind: 'failed', reason: 'the answer holds no version' }],
    ['a list', { kind: 'ok', body: ['1.0.0'] }, { kind: 'failed', reason: 'the answer holds no version' }],
    ['null', { kind: 'ok', body: null }, { kind: 'failed', reason: 'the answer holds no version' }],
    ['no JSON', { kind: 'unreadable', reason: 'Unexpected token' }, { kind: 'failed', reason: 'Unexpected token' }],
    ['no answer', { kind: 'unreachable', reason: 'refused' }, { kind: 'unreachable', reason: 'refused' }]
  ])('knows %s', (_, answer, expected) => {
    expect(judge(answer, '1.0.0')).toEqual(expected);
  });
});

/** Questions that are answered one by one, in the order a test wants. */
class Questions {
  readonly answers: ((answer: Answer) => void)[] = [];
  readonly ask = (): Promise<Answer> =>
    new Promise(resolve => {
      this.answers.push(resolve);
    });
}

describe('ServerPart', () => {
  it('is asking until an answer comes, and emits it once', async () => {
    const part = new ServerPart('1.0.0', () => Promise.resolve(version('1.0.0')));
    const seen: ServerState[] = [];
    part.changed.connect((_, state) => seen.push(state));
    expect(part.state).toEqual({ kind: 'asking' });
    await part.refresh();
    await part.refresh();
    expect(seen).toEqual([{ kind: 'same', version: '1.0.0' }]);
    expect(part.state).toEqual(seen[0]);
  });

  it('drops an old answer that comes after a newer one', async () => {
    const questions = new Questions();
    const part = new ServerPart('1.0.0', questions.ask);
    const first = part.refresh();
    const second = part.refresh();
    questions.answers[1]?.(version('1.0.0'));
    await second;
    questions.answers[0]?.(status(404, 'Not Found'));
    await first;
    expect(part.state).toEqual({ kind: 'same', version: '1.0.0' });
  });

  it('tells nobody after it was disposed', async () => {
    const questions = new Questions();
    const part = new ServerPart('1.0.0', questions.ask);
    const seen: ServerState[] = [];
    part.changed.connect((_, state) => seen.push(state));
    const asked = part.refresh();
    part.dispose();
    questions.answers[0]?.(version('1.0.0'));
    await asked;
    expect(seen).toEqual([]);
    expect(part.isDisposed).toBe(true);
  });
});
