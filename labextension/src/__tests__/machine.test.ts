// The server's machine: what is read of its answers, how it is said, and when it is asked.
import { nullTranslator } from '@jupyterlab/translation';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { Machine } from '../model/machine';
import { packagesOf, sum } from '../model/packages';
import type { Answer } from '../request';
import type { IFacts, IGpu, ISession } from '../tokens';
import { readFacts, readSessions } from '../wirefacts';
import { absenceText, gpuName, isLiving, memoryText, placeText, readingsText, sessionText } from '../words';
import { contract, machine } from './recorded';

const trans = nullTranslator.load('rocmtx');
const GIB = 1024 ** 3;

function facts(body: unknown): IFacts {
  const found = readFacts(body);
  if (!found) {
    throw new Error('no report');
  }
  return found;
}

/** Everything that the panel says of a GPU. */
function said(gpu: IGpu): string[] {
  return [gpuName, placeText, memoryText, readingsText].map(say => say(gpu, trans));
}

describe('readFacts', () => {
  it('reads every field of the golden report', () => {
    const found = facts(contract('facts'));
    expect(found.recorded).toBe('contract');
    expect(found.kfd).toBe(true);
    expect(found.gpus[0]).toEqual({
      address: '0000:05:00.0',
      gpuId: 28851,
      vendor: 'AMD',
      name: 'AMD Instinct MI300X',
      gfx: 'gfx942',
      ordinal: 0,
      hiddenBecause: null,
      socket: '0000:05:00',
      partition: { index: 0, count: 8, modes: 'CPX/NPS4' },
      integrated: false,
      vramTotal: 192 * GIB,
      vramUsed: GIB,
      gttTotal: null,
      busy: 0.42,
      temperatureC: 41,
      power: 133,
      powerCap: 750,
      asleep: false,
      sharesReadings: false
    });
  });

  it.each([[null], [[]], ['report'], [{}], [{ rocmtx_report: 1, gpus: {} }]])('knows what is no report: %j', body => {
    expect(readFacts(body)).toBeNull();
  });

  it('passes over what is damaged', () => {
    const body = { rocmtx_report: 1, gpus: [7, { name: 'no address' }, { address: 'a', busy: '1', hip_ordinal: null }] };
    expect(facts(body).gpus.map(gpu => [gpu.address, gpu.busy, gpu.ordinal])).toEqual([['a', null, null]]);
  });
});

describe('what is said of a GPU', () => {
  it.each([
    [
      'mi300x-8',
      ['AMD Instinct MI300X', 'gfx942 · cuda:0', '284.0 MiB of 192.0 GiB', 'busy 0 % · 41 °C · 133 W of 750 W']
    ],
    [
      'no-driver',
      [
        'AMD Radeon RX 7900 XTX',
        'gfx1100 · hidden: no driver holds it: amdgpu is not loaded',
        'memory unknown',
        'no readings'
      ]
    ],
    [
      'strix-halo',
      [
        'AMD Radeon 8060S',
        'gfx1151 · cuda:0',
        '220.0 MiB of 96.0 GiB + 15.5 GiB shared with the system',
        'busy 0 % · 34 °C · 9 W'
      ]
    ]
  ])('on %s', (name, expected) => {
    const [gpu] = facts(machine(name)).gpus;
    expect(gpu && said(gpu)).toEqual(expected);
  });

  it('names what is of another vendor, and what is not known', () => {
    const gpus = facts(contract('facts')).gpus;
    expect(gpus.slice(1).map(said)).toEqual([
      ['AMD GPU (name unknown)', 'gfx942 · hidden: HIP_VISIBLE_DEVICES=0', 'memory unknown', 'no readings'],
      ['NVIDIA H200 (not an AMD GPU)', '', 'memory unknown', 'no readings']
    ]);
    const [gpu] = gpus;
    expect(gpu && readingsText({ ...gpu, power: null, busy: null }, trans)).toBe('busy unknown · 41 °C · power unknown');
    expect(gpu && readingsText({ ...gpu, asleep: true }, trans)).toBe('asleep');
    expect(gpu && memoryText({ ...gpu, vramUsed: null }, trans)).toBe('192.0 GiB, use unknown');
  });

  it('says why there is none', () => {
    expect(absenceText(facts(machine('mi300x-8')), trans)).toBeNull();
    expect(absenceText(facts(machine('no-permission')), trans)).toMatch(/^No AMD GPU can be used here\. .*rocmtx doctor/);
    expect(absenceText(facts(machine('wsl')), trans)).toMatch(/^No AMD GPU here: no KFD in \/sys\./);
    expect(absenceText({ gpus: [], kfd: true, recorded: null }, trans)).toMatch(/^No AMD GPU here\. /);
  });
});

describe('packagesOf', () => {
  it('puts the partitions of a package together', () => {
    const packages = packagesOf(facts(machine('mi300x-8-cpx')).gpus);
    expect(packages.map(({ gpus }) => gpus.length)).toEqual([8, 8, 8, 8, 8, 8, 8, 8]);
    expect(packages[0]?.key).toBe('0000:0c:00');
    expect(packages[0] && sum(packages[0].gpus, 'vramTotal')).toBe(8 * 25767706624);
  });

  it('leaves whole GPUs alone, and the sum unknown where a part is', () => {
    const { gpus } = facts(machine('mi300x-8'));
    expect(packagesOf(gpus).length).toBe(8);
    const [gpu] = gpus;
    expect(gpu && sum([gpu, { ...gpu, vramUsed: null }], 'vramUsed')).toBeNull();
  });
});

describe('sessions', () => {
  const sessions = readSessions(contract('sessions')) ?? [];
  const [, running] = sessions as [ISession, ISession];

  it('are read as the server part writes them', () => {
    expect(sessions.map(session => [session.phase, isLiving(session)])).toEqual([
      ['new', false],
      ['generating', true],
      ['ended', false]
    ]);
    expect(running).toEqual({
      id: '20240102-030405-ab12',
      phase: 'generating',
      model: 'demo',
      device: 'cuda:0',
      memory: [
        { device: 'cuda:0', used: 3 * GIB, total: 192 * GIB },
        { device: 'cuda:1', used: GIB, total: null }
      ],
      updated: 1_700_000_100
    });
  });

  it.each([
    [running, 30, 'generating · cuda:0 · 3.0 GiB of 192.0 GiB'],
    [running, 300, 'generating · cuda:0 · 3.0 GiB of 192.0 GiB · last heard of 5 min ago'],
    [{ ...running, memory: [], device: null, phase: 'loading' }, 0, 'loading'],
    [{ ...running, device: null, phase: 'failed' }, 300, 'failed: nothing loaded'],
    [{ ...running, phase: 'dreaming', memory: [] }, 0, 'dreaming · cuda:0']
  ])('are said in one line (%#)', (session, later, text) => {
    expect(sessionText(session, session.updated + later, trans)).toBe(text);
  });

  it.each([[null], [[]], [{ sessions: null }]])('are none in %j', body => {
    expect(readSessions(body)).toBeNull();
  });
});

describe('Machine', () => {
  const made: Machine[] = [];

  /** A machine that asks a server; `asked` counts the questions for facts. */
  function over(answer: (path: string) => Answer, interval = 10): { server: Machine; asked: () => number } {
    const ask = vi.fn((path: string) => Promise.resolve(answer(path)));
    const server = new Machine('1.0.0', ask, interval);
    made.push(server);
    return { server, asked: () => ask.mock.calls.filter(([path]) => path === 'facts').length };
  }

  const well = (path: string): Answer => ({ kind: 'ok', body: contract(path) });

  afterEach(() => {
    made.splice(0).forEach(server => {
      server.dispose();
    });
  });

  it('asks only while somebody watches', async () => {
    const { server, asked } = over(well);
    await pause(60);
    expect(asked()).toBe(0);
    server.watched = true;
    await vi.waitFor(() => {
      expect(asked()).toBeGreaterThan(2);
    });
    expect(server.state.facts?.gpus.length).toBe(3);
    expect(server.state.sessions.length).toBe(3);
    server.watched = false;
    await pause(30);
    const before = asked();
    await pause(80);
    expect(asked()).toBe(before);
    server.watched = true;
    await vi.waitFor(() => {
      expect(asked()).toBeGreaterThan(before);
    });
  });

  it('keeps what it knew when the server fails, and says what is wrong', async () => {
    let failing = false;
    const { server } = over(path => (failing ? { kind: 'unreachable', reason: 'gone' } : well(path)));
    server.watched = true;
    await vi.waitFor(() => {
      expect(server.state.facts).not.toBeNull();
    });
    failing = true;
    await vi.waitFor(() => {
      expect(server.state.trouble).toEqual({ kind: 'unreachable', reason: 'gone' });
    });
    expect(server.state.facts?.gpus.length).toBe(3);
    failing = false;
    await vi.waitFor(() => {
      expect(server.state.trouble).toBeNull();
    });
  });

  it.each<[Answer, unknown]>([
    [{ kind: 'status', status: 404, reason: '' }, { kind: 'absent' }],
    [{ kind: 'status', status: 403, reason: '' }, { kind: 'refused', status: 403 }],
    [{ kind: 'ok', body: 'nonsense' }, { kind: 'failed', reason: 'it has another form' }]
  ])('knows a server without its part (%#)', async (answer, trouble) => {
    const { server } = over(() => answer);
    server.watched = true;
    await vi.waitFor(() => {
      expect(server.state.trouble).toEqual(trouble);
    });
    expect(server.state.facts).toBeNull();
  });

  it('says nothing after its end', async () => {
    const { server } = over(well);
    const heard = vi.fn();
    server.changed.connect(heard);
    server.watched = true;
    server.dispose();
    server.watched = false;
    await pause(40);
    expect(heard).not.toHaveBeenCalled();
  });
});

function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}
