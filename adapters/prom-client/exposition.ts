import { combine } from './combine.ts';
import type { MetricsSnapshot } from './metrics-snapshot.ts';

/** Metrics as they are shown to a scraper, in the text format 0.0.4 of Prometheus. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** Shows what several places measured as what one service measured. */
export async function exposition(snapshots: readonly MetricsSnapshot[]): Promise<Exposition> {
  const registry = combine(snapshots);
  return { contentType: registry.contentType, text: await registry.metrics() };
}
