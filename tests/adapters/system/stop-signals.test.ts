import { beforeEach, describe, expect, it } from '@jest/globals';
import { StopSignals } from '../../../adapters/system/stop-signals.ts';

let nowMs: number;
let signals: StopSignals;
beforeEach(() => {
  nowMs = 5_000;
  signals = new StopSignals(() => nowMs);
});

describe('StopSignals', () => {
  it('asks for a planned shutdown at SIGTERM, also if it comes again within a second', () => {
    expect(signals.received('SIGTERM')).toBe('planned');
    expect(signals.received('SIGTERM')).toBe('planned');
    nowMs += 999.9;
    expect(signals.received('SIGTERM')).toBe('planned');
  });

  it('asks for an immediate shutdown at a SIGTERM one second after the first, however many came in between', () => {
    signals.received('SIGTERM');
    nowMs += 600;
    signals.received('SIGTERM');
    nowMs += 400;
    expect(signals.received('SIGTERM')).toBe('immediate');
  });

  it('asks for an immediate shutdown at SIGINT, first or right after SIGTERM', () => {
    expect(signals.received('SIGINT')).toBe('immediate');
    expect(signals.received('SIGTERM')).toBe('planned');
    expect(signals.received('SIGINT')).toBe('immediate');
  });
});
