import type { IGpu } from '../tokens';

/** One package as a person would buy it: a whole GPU, or all partitions that it is divided into. */
export interface IPackage {
  readonly key: string;
  readonly gpus: readonly [IGpu, ...IGpu[]];
}

/** Puts partitions of one package together, in the order in which the first of each comes. */
export function packagesOf(gpus: readonly IGpu[]): readonly IPackage[] {
  const found = new Map<string, [IGpu, ...IGpu[]]>();
  for (const gpu of gpus) {
    const key = gpu.partition && gpu.socket !== null ? gpu.socket : gpuKey(gpu);
    const together = found.get(key);
    if (together) {
      together.push(gpu);
    } else {
      found.set(key, [gpu]);
    }
  }
  return [...found].map(([key, together]) => ({ key, gpus: together }));
}

/** What tells a GPU from all others of its machine. */
export function gpuKey(gpu: IGpu): string {
  return `${gpu.address} ${gpu.gpuId?.toString() ?? ''}`;
}

/** The memory of all partitions together; unknown where one is. */
export function sum(gpus: readonly IGpu[], field: 'vramUsed' | 'vramTotal'): number | null {
  return gpus.reduce<number | null>((total, gpu) => {
    const part = gpu[field];
    return total === null || part === null ? null : total + part;
  }, 0);
}
