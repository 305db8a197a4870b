import { afterAll, describe, expect, it } from '@jest/globals';
import { OPTIONAL_METHODS, type OptionalMethod } from '../../lab/bench/assertion-clients.ts';
import type { FloodName } from '../../lab/bench/attack/floods.ts';
import { LIMIT_MB, measureFlood, methodsOf } from '../../lab/bench/attack/memory.ts';

const SECONDS = 5;
/** Unfinished requests are given up after 15 s, and opened again. */
const UNFINISHED_SECONDS = 20;

/** What floods most. All methods have their queues and caches at once: no fewer of them take more. */
const FLOODS: readonly FloodName[] = [
  'guesses, 2,000',
  'pipelined guesses, 2,000 x 15',
  'large guesses by pairs, 2,000',
  'pipelined large headers, 2,000 x 16',
  'guesses by header, 2,000',
  'wide assertions, 2,000',
  'wide identities, 2,000',
];

// `npm run bench -- attack --part memory` runs all floods, for longer.
describe('the service in a control group of 320 MB', () => {
  const opened = new AsyncDisposableStack();
  afterAll(() => opened.disposeAsync());

  it.each([
    'unfinished requests, 3,000',
    'unfinished requests by TLS, 2,000',
    'unfinished requests of many fields, 3,000',
    'too many header fields, 3,000',
    'slow bodies, 2,000',
    'slow headers, 2,000',
  ] as const)('gives each client a token that is connected, under a flood: %s', async (flood) => {
    const { highestMb, processesKept, clients } = await measureFlood(flood, UNFINISHED_SECONDS, [], opened);
    expect(processesKept).toBe(true);
    expect(highestMb).toBeLessThan(LIMIT_MB);
    expect(clients.latenciesMs.length).toBeGreaterThan(UNFINISHED_SECONDS);
    expect(clients.failures).toEqual({});
  });

  /** @param locked a table whose look-ups wait. */
  async function expectBounded(flood: FloodName, methods: readonly OptionalMethod[], locked?: string): Promise<void> {
    const { highestMb, processesKept, answers } = await measureFlood(flood, SECONDS, methods, opened, locked);
    expect(Object.keys(answers)).not.toEqual([]);
    expect(answers).not.toHaveProperty('200');
    expect(processesKept).toBe(true);
    expect(highestMb).toBeGreaterThan(50);
    expect(highestMb).toBeLessThan(LIMIT_MB);
  }

  it.each(FLOODS)(`stays below ${LIMIT_MB} MB under a flood, with all methods: %s`, (flood) =>
    expectBounded(flood, OPTIONAL_METHODS),
  );

  it.each([
    ['wide assertions, 2,000', 'clients'],
    ['wide identities, 2,000', 'clients'],
  ] as const)(
    `stays below ${LIMIT_MB} MB under a flood whose look-ups wait: %s, while the table %s is locked`,
    (flood, table) => expectBounded(flood, methodsOf(flood), table),
  );
});
