import { beforeEach, describe, expect, it } from '@jest/globals';
import { shutdownModes } from '../../config/run.ts';

let nowMs: number;
let modeOf: ReturnType<typeof shutdownModes>;
beforeEach(() => {
  nowMs = 5_000;
  modeOf = shutdownModes(() => nowMs);
});

describe('a process', () => {
  it('asks for a planned shutdown at SIGTERM, also if it comes again within a second', () => {
    expect(modeOf('SIGTERM')).toBe('planned');
    expect(modeOf('SIGTERM')).toBe('planned');
    nowMs += 999.9;
    expect(modeOf('SIGTERM')).toBe('planned');
  });

  it('asks for an immediate shutdown at a SIGTERM one second after the first, however many came in between', () => {
    modeOf('SIGTERM');
    nowMs += 600;
    modeOf('SIGTERM');
    nowMs += 400;
    expect(modeOf('SIGTERM')).toBe('immediate');
  });

  it('asks for an immediate shutdown at SIGINT, first or right after SIGTERM', () => {
    expect(modeOf('SIGINT')).toBe('immediate');
    expect(modeOf('SIGTERM')).toBe('planned');
    expect(modeOf('SIGINT')).toBe('immediate');
  });
});
