import type { LegitimateResult } from './attack-drivers.ts';

/** The legitimate clients before, during and after an attack. */
export interface TimelineResult {
  /** Of each of the three phases. */
  readonly phaseSeconds: number;
  readonly clients: LegitimateResult;
  /** Requests of attackers that were answered in each second. */
  readonly attackerAnswers: readonly number[];
}

export const PHASES = ['before', 'during', 'after'] as const;

export interface PhaseFigures {
  readonly phase: (typeof PHASES)[number];
  readonly latenciesMs: readonly number[];
  readonly failures: number;
  /** Mean of the whole seconds of the phase. */
  readonly attackerAnswersPerSecond: number;
}

/** What happened in each phase. The first and the last second of the attack are partly without it. */
export function phaseFigures({ phaseSeconds, clients, attackerAnswers }: TimelineResult): readonly PhaseFigures[] {
  return PHASES.map((phase, n) => {
    const [from, to] = [n * phaseSeconds, (n + 1) * phaseSeconds];
    const seconds = clients.seconds.slice(from, to);
    const answers = attackerAnswers.slice(from, to);
    return {
      phase,
      latenciesMs: seconds.flatMap(({ latenciesMs }) => latenciesMs),
      failures: seconds.reduce((sum, { failures }) => sum + failures, 0),
      attackerAnswersPerSecond: answers.reduce((sum, count) => sum + count, 0) / phaseSeconds,
    };
  });
}
