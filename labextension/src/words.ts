/** How GPUs and sessions are said in the side panel: the same words as src/rocmtx/views/words.py. */
import type { TranslationBundle } from '@jupyterlab/translation';

import type { IFacts, IGpu, ISession } from './tokens';
import { bytesText } from './units';

/** After this many seconds without an event a session says how long ago the last one was. */
const SILENT_SECONDS = 60;

/** A GPU's name; one of another vendor says so. */
export function gpuName(gpu: IGpu, trans: TranslationBundle): string {
  const name = gpu.name ?? trans.__('%1 GPU (name unknown)', gpu.vendor);
  return gpu.vendor === 'AMD' ? name : trans.__('%1 (not an AMD GPU)', name);
}

/** Which device it is, or by what it is hidden: "gfx942 · cuda:0". */
export function placeText(gpu: IGpu, trans: TranslationBundle): string {
  const parts = gpu.vendor === 'AMD' ? [gpu.gfx ?? trans.__('gfx unknown')] : [];
  if (gpu.ordinal !== null) {
    parts.push(`cuda:${gpu.ordinal.toString()}`);
  } else if (gpu.vendor === 'AMD') {
    parts.push(gpu.hiddenBecause === null ? trans.__('hidden') : trans.__('hidden: %1', gpu.hiddenBecause));
  }
  return parts.join(' · ');
}

/** Used and total VRAM; an integrated GPU also says what it may take of the system's memory. */
export function memoryText(gpu: IGpu, trans: TranslationBundle): string {
  const { vramUsed: used, vramTotal: total } = gpu;
  let text = trans.__('%1 of %2', bytesText(used), bytesText(total));
  if (used === null) {
    text = total === null ? trans.__('memory unknown') : trans.__('%1, use unknown', bytesText(total));
  }
  return gpu.integrated && gpu.gttTotal !== null
    ? trans.__('%1 + %2 shared with the system', text, bytesText(gpu.gttTotal))
    : text;
}

/** What its sensors say: "busy 42 % · 41 °C · 133 W of 750 W"; a sleeping GPU is not woken for it. */
export function readingsText(gpu: IGpu, trans: TranslationBundle): string {
  if (gpu.asleep) {
    return trans.__('asleep');
  }
  const { busy, temperatureC, power, powerCap } = gpu;
  if (busy === null && temperatureC === null && power === null) {
    return trans.__('no readings');
  }
  const watts = power === null ? null : `${power.toFixed(0)} W`;
  return [
    busy === null ? trans.__('busy unknown') : trans.__('busy %1 %', (busy * 100).toFixed(0)),
    temperatureC === null ? trans.__('temperature unknown') : `${temperatureC.toFixed(0)} °C`,
    watts === null
      ? trans.__('power unknown')
      : powerCap === null
        ? watts
        : trans.__('%1 of %2', watts, `${powerCap.toFixed(0)} W`)
  ].join(' · ');
}

/** Why there is no GPU to use, and what to type; null where one is visible. */
export function absenceText(facts: IFacts, trans: TranslationBundle): string | null {
  const amd = facts.gpus.filter(gpu => gpu.vendor === 'AMD');
  if (amd.some(gpu => gpu.ordinal !== null)) {
    return null;
  }
  const more = trans.__('Find out more in a notebook with %rocm doctor, or in a terminal with rocmtx doctor.');
  if (amd.length > 0) {
    return trans.__('No AMD GPU can be used here. %1', more);
  }
  return facts.kfd
    ? trans.__('No AMD GPU here. %1', more)
    : trans.__('No AMD GPU here: no KFD in /sys. %1', more);
}

/** What a session does, where: "generating · cuda:0 · 3.0 GiB of 192.0 GiB". */
export function sessionText(session: ISession, now: number, trans: TranslationBundle): string {
  const parts = [phaseText(session.phase, trans)];
  if (session.device !== null) {
    parts.push(session.device);
  }
  const fullest = session.memory.reduce<ISession['memory'][number] | null>(
    (most, reading) => ((reading.used ?? -1) > (most?.used ?? -1) ? reading : most),
    null
  );
  if (fullest && isLiving(session)) {
    const used = bytesText(fullest.used);
    parts.push(fullest.total === null ? used : trans.__('%1 of %2', used, bytesText(fullest.total)));
  }
  const silent = now - session.updated;
  if (silent > SILENT_SECONDS && isLiving(session)) {
    parts.push(trans.__('last heard of %1 min ago', Math.round(silent / 60)));
  }
  return parts.join(' · ');
}

/** Whether a session holds a model, or is about to. */
export function isLiving(session: ISession): boolean {
  return !['new', 'ended', 'failed'].includes(session.phase);
}

function phaseText(phase: string, trans: TranslationBundle): string {
  const words: Record<string, string> = {
    new: trans.__('nothing loaded'),
    loading: trans.__('loading'),
    ready: trans.__('ready'),
    generating: trans.__('generating'),
    training: trans.__('training'),
    unloading: trans.__('unloading'),
    ended: trans.__('ended: nothing loaded'),
    failed: trans.__('failed: nothing loaded')
  };
  return words[phase] ?? phase;
}
