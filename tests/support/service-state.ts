import type { ServiceState } from '../../adapters/prom-client/service-metrics.ts';

/** The state of a service that has just started, with a different number for each figure of its queue. */
export const SERVICE_STATE: ServiceState = {
  checks: [],
  workers: 2,
  listening: 2,
  verifications: { running: 1, fifo: 2, overflow: 3, shares: 4, paced: 5, unanswered: 6 },
  verificationsMax: { running: 10, fifo: 20, overflow: 30, shares: 40, paced: 50, unanswered: 60 },
  refusalCost: 10,
  clockOffsetSeconds: undefined,
  clockOffsetSecondsMax: 10,
  cores: 2,
  memoryBytes: 8_000_000_000,
  keys: { trusted: 0, age: undefined, lease: undefined, rotation: undefined, directoryAge: undefined },
};
