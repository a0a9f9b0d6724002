// The widgets' models and the pickers: what the kernel sends is put together again, and a lost message is noticed.
import { expect, test, vi } from 'vitest';

import choices from '../../live/choices';
import { bytesText, clockText, numberText } from '../../live/format';
import { floats, Store } from '../../live/store';
import type { IModel } from '../../live/widget';

function rows(...values: number[]): DataView {
  return new DataView(new Float64Array(values).buffer);
}

test('appended messages continue the whole one', () => {
  const store = new Store(100);
  expect(store.take({ k: 'r', s: 4, lines: ['cpu'], prompt: '?', text: 'The', b: ['m'] }, [rows(1, 10, 2, 20)])).toBe(true);
  expect(store.take({ k: 'a', s: 5, add: ' end', speed: '2 tokens', b: ['m'] }, [rows(3, NaN)])).toBe(true);
  expect(store.text).toBe('The end');
  expect(store.speed).toBe('2 tokens');
  expect(store.memoryColumns).toEqual([[1, 2, 3], [10, 20, NaN]]);
});

test('a lost message is refused, and everything is taken again', () => {
  const store = new Store(100);
  store.take({ k: 'r', s: 1, text: 'a' });
  expect(store.take({ k: 'a', s: 3, add: 'c' })).toBe(false);
  expect(store.text).toBe('a');
  expect(store.take({ k: 'r', s: 4, text: 'abc' })).toBe(true);
  expect(store.take({ k: 'a', s: 5, add: 'd' })).toBe(true);
  expect(store.text).toBe('abcd');
});

test('a reset leaves nothing of before', () => {
  const store = new Store(100);
  const full = { k: 'r', s: 1, lines: ['x'], prompt: 'p', text: 't', training: '1 step', error: ['e', 'h'], share: 0.5 } as const;
  store.take({ ...full, marks: [[1, 'load']], b: ['m'] }, [rows(1, 2)]);
  store.take({ k: 'r', s: 2 });
  expect([store.text, store.prompt, store.training, store.error, store.share, store.marks]).toEqual(['', null, null, [], null, []]);
  expect(store.memoryColumns).toEqual([[]]);
});

test('the oldest rows and marks are dropped', () => {
  const store = new Store(3);
  store.take({ k: 'r', s: 1, lines: ['x'], b: ['m'] }, [rows(1, 1, 2, 2, 3, 3, 4, 4)]);
  expect(store.memoryColumns[0]).toEqual([2, 3, 4]);
  store.take({ k: 'a', s: 2, marks: Array.from({ length: 600 }, (_, at) => [at, 'm'] as const) });
  expect(store.marks.length).toBe(500);
  expect(store.marks[0]).toEqual([100, 'm']);
});

test('a held-out loss completes the point of its step', () => {
  const store = new Store(100);
  store.take({ k: 'r', s: 1, losses: ['loss', 'held-out loss'], b: ['l'] }, [rows(1, 3, NaN, 2, 2, NaN, 2, NaN, 2.5, 3, 1, NaN)]);
  expect(store.lossColumns).toEqual([[1, 2, 3], [3, 2, 1], [NaN, 2.5, NaN]]);
});

test('error and progress are taken away by empty values, not by absent ones', () => {
  const store = new Store(1);
  store.take({ k: 'r', s: 1, error: ['broken', 'do this'], share: 0.5 });
  store.take({ k: 'a', s: 2 });
  expect([store.error, store.share]).toEqual([['broken', 'do this'], 0.5]);
  store.take({ k: 'a', s: 3, error: [], share: null });
  expect([store.error, store.share]).toEqual([[], null]);
});

test('numbers are read from any place in a buffer', () => {
  const bytes = new Uint8Array(20);
  new DataView(bytes.buffer).setFloat64(3, 1.5, true);
  expect([...floats(new DataView(bytes.buffer, 3, 8))]).toEqual([1.5]);
});

test('numbers read as in Python', () => {
  expect([0, 1023, 512 * 1024, 1024 ** 2 - 1, 1.5 * 1024 ** 3, NaN, null].map(value => bytesText(value))).toEqual([
    '0 B', '1023 B', '512 KiB', '1.0 MiB', '1.5 GiB', 'unknown', 'unknown'
  ]);
  expect([3.21412, 0.0432, 12345, NaN].map(value => numberText(value))).toEqual(['3.214', '0.0432', '12350', 'unknown']);
  expect(clockText(0)).toMatch(/^\d\d:\d\d:00$/);
});

// --- the pickers ---

function entry(value: string, answer: string): Record<string, string> {
  return { value, label: value || 'automatic', answer, because: `${value} because`, fix: answer === 'no' ? 'take sdpa' : '' };
}

function attention(...entries: Record<string, string>[]): Record<string, unknown> {
  return { name: 'attention', title: 'Attention', now: entries[0], entries };
}

function shown(groups: unknown[], chosen: Record<string, string>): { el: HTMLElement; model: Record<string, unknown>; save: () => void; change: () => void } {
  const values: Record<string, unknown> = { groups, chosen };
  const listeners = new Set<() => void>();
  const save = vi.fn();
  const model = {
    get: (name: string) => values[name],
    set: (name: string, value: unknown) => { values[name] = value; },
    save_changes: save,
    send: vi.fn(),
    on: (_: string, listener: () => void) => { listeners.add(listener); },
    off: vi.fn()
  } as unknown as IModel;
  const el = document.body.appendChild(document.createElement('div'));
  choices.render({ model, el });
  return { el, model: values, save, change: () => { listeners.forEach(listener => { listener(); }); } };
}

test('every entry is a named radio button with its reason', () => {
  const { el } = shown([attention(entry('', 'yes'), entry('sdpa', 'yes'), entry('fa4', 'no'))], { attention: '' });
  const radios = [...el.querySelectorAll('input')];
  expect(radios.map(radio => radio.getAttribute('aria-label'))).toEqual(['automatic: works', 'sdpa: works', 'fa4: no']);
  expect(radios.map(radio => radio.disabled)).toEqual([false, false, false]);
  const described = radios.map(radio => document.getElementById(radio.getAttribute('aria-describedby') ?? '')?.textContent);
  expect(described[2]).toBe('fa4 because → take sdpa');
  expect(el.querySelector('legend')?.textContent).toBe('Attention');
});

test('many impossible entries are folded, but stay', () => {
  const no = ['a', 'b', 'c', 'd'].map(name => entry(name, 'no'));
  const { el } = shown([attention(entry('', 'yes'), ...no)], { attention: '' });
  expect(el.querySelector('fieldset summary')?.textContent).toBe('4 that do not work here, and why');
  expect(el.querySelectorAll('fieldset details input').length).toBe(4);
});

test('choosing saves, and a redraw keeps the focus', () => {
  const first = [attention(entry('', 'yes'), entry('sdpa', 'yes'))];
  const { el, model, save, change } = shown(first, { attention: '' });
  const radio = el.querySelector<HTMLInputElement>('input[value=sdpa]');
  el.querySelector('details')?.setAttribute('open', '');
  radio?.focus();
  radio?.click();
  expect(model['chosen']).toEqual({ attention: 'sdpa' });
  expect(save).toHaveBeenCalledOnce();
  model['groups'] = [attention(entry('', 'not known'), entry('sdpa', 'yes'))];
  change();
  expect((document.activeElement as HTMLInputElement).value).toBe('sdpa');
  expect((document.activeElement as HTMLInputElement).checked).toBe(true);
});

test('names from outside are text, never markup', () => {
  const { el } = shown([attention(entry('', 'yes'), entry('<img src=x>', 'yes'))], { attention: '' });
  expect(el.querySelector('img')).toBeNull();
});
