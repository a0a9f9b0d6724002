/** The machine and the sessions as the server part sends them, checked field by field. */
import type { IFacts, IGpu, ISession } from './tokens';
import { isRecord } from './wire';

type Fields = Record<string, unknown>;

/** Reads the body of `GET rocmtx/facts`; null when it is no report. What a report lacks is unknown. */
export function readFacts(body: unknown): IFacts | null {
  if (!isRecord(body) || typeof body['rocmtx_report'] !== 'number') {
    return null;
  }
  const gpus = body['gpus'] ?? [];
  if (!Array.isArray(gpus)) {
    return null;
  }
  const host = isRecord(body['host']) ? body['host'] : {};
  // The origin is left out of no report that was recorded.
  const recorded = (text(body, 'origin') ?? 'live') === 'live' ? null : (text(body, 'label') ?? '');
  return { gpus: gpus.filter(isRecord).flatMap(readGpu), kfd: host['kfd_topology'] === true, recorded };
}

/** Reads the body of `GET rocmtx/sessions`; null when it is something else. */
export function readSessions(body: unknown): readonly ISession[] | null {
  const sessions = isRecord(body) ? body['sessions'] : null;
  return Array.isArray(sessions) ? sessions.filter(isRecord).flatMap(readSession) : null;
}

function readGpu(gpu: Fields): IGpu[] {
  const address = text(gpu, 'address');
  if (address === null) {
    return [];
  }
  return [
    {
      address,
      gpuId: number(gpu, 'gpu_id'),
      vendor: text(gpu, 'vendor') ?? 'AMD',
      name: text(gpu, 'name'),
      gfx: text(gpu, 'gfx'),
      ordinal: number(gpu, 'hip_ordinal'),
      hiddenBecause: text(gpu, 'hidden_because'),
      socket: text(gpu, 'socket'),
      partition: readPartition(gpu['partition']),
      integrated: gpu['integrated'] === true,
      vramTotal: number(gpu, 'vram_total'),
      vramUsed: number(gpu, 'vram_used'),
      gttTotal: number(gpu, 'gtt_total'),
      busy: number(gpu, 'busy'),
      temperatureC: number(gpu, 'temperature_c') ?? number(gpu, 'hotspot_temperature_c'),
      power: number(gpu, 'power'),
      powerCap: number(gpu, 'power_cap'),
      asleep: gpu['power_state'] === 'suspended',
      sharesReadings: gpu['telemetry_of'] === 'socket'
    }
  ];
}

function readPartition(value: unknown): IGpu['partition'] {
  if (!isRecord(value)) {
    return null;
  }
  const [index, count] = [number(value, 'index'), number(value, 'count')];
  // One partition is the whole package.
  if (index === null || count === null || count < 2) {
    return null;
  }
  const modes = [text(value, 'compute'), text(value, 'memory')].filter(mode => mode !== null);
  return { index, count, modes: modes.join('/') };
}

function readSession(session: Fields): ISession[] {
  const [id, phase, updated] = [text(session, 'id'), text(session, 'phase'), number(session, 'updated')];
  if (id === null || phase === null || updated === null) {
    return [];
  }
  const memory = Array.isArray(session['memory']) ? session['memory'].filter(isRecord) : [];
  return [
    {
      id,
      phase,
      updated,
      model: text(session, 'model'),
      device: text(session, 'device'),
      memory: memory.flatMap(reading => {
        const device = text(reading, 'device');
        return device === null
          ? []
          : [{ device, used: number(reading, 'used'), total: number(reading, 'total') }];
      })
    }
  ];
}

function text(fields: Fields, name: string): string | null {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

function number(fields: Fields, name: string): number | null {
  const value = fields[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
