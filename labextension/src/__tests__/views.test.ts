import { nullTranslator } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { ServerPart } from '../model/serverpart';
import type { Answer } from '../request';
import { AboutBody } from '../view/aboutbody';
import { StatusItem } from '../view/statusitem';

const trans = nullTranslator.load('rocmtx');

function part(...answers: Answer[]): ServerPart {
  return new ServerPart('1.0.0', () =>
    Promise.resolve(answers.shift() ?? { kind: 'unreachable', reason: 'no more answers' })
  );
}

afterEach(() => {
  document.body.replaceChildren();
});

describe('StatusItem', () => {
  it('is a button that follows the server part and opens the dialog', async () => {
    const server = part({ kind: 'status', status: 404, reason: 'Not Found' });
    const open = vi.fn();
    const item = new StatusItem(server, trans, open);
    Widget.attach(item, document.body);
    const button = item.node;
    expect(document.querySelector('button.rtx-StatusItem')).toBe(button);
    expect(button.textContent).toBe('rocmtx 1.0.0');
    await server.refresh();
    expect(button.textContent).toBe('rocmtx 1.0.0 · server part missing');
    expect(button.title).toContain('pip install rocmtx');
    button.click();
    expect(open).toHaveBeenCalledOnce();
  });

  it('leaves nothing behind', async () => {
    const server = part({ kind: 'status', status: 404, reason: '' });
    const open = vi.fn();
    const item = new StatusItem(server, trans, open);
    Widget.attach(item, document.body);
    const button = item.node;
    item.dispose();
    await server.refresh();
    button.click();
    expect(button.textContent).toBe('rocmtx 1.0.0');
    expect(open).not.toHaveBeenCalled();
    expect(document.body.childElementCount).toBe(0);
  });
});

describe('AboutBody', () => {
  it('lists both versions and follows the server part', async () => {
    const server = part({ kind: 'ok', body: { version: '0.9.0' } });
    const body = new AboutBody(server, trans);
    expect(rows(body.node)).toEqual([
      ['Front end', '1.0.0'],
      ['Server part', 'asking the server…']
    ]);
    await server.refresh();
    expect(rows(body.node)[1]?.[1]).toContain('version 0.9.0, this page has 1.0.0');
    body.dispose();
  });
});

function rows(node: HTMLElement): string[][] {
  return [...node.querySelectorAll('dt')].map(term => [
    term.textContent,
    term.nextElementSibling?.textContent ?? ''
  ]);
}
