import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DatabaseLine } from '../../../adapters/postgres/health.ts';
import { OptionalTable } from '../../../adapters/postgres/optional-table.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';

type Found = { readonly exists: boolean; readonly readable: boolean };

const OUTAGE = new DependencyUnavailable('client repository', new Error('connection refused'));
const UNREADABLE = { exists: true, readable: false };
const READABLE = { exists: true, readable: true };
const MISSING = { exists: false, readable: false };

let lines: DatabaseLine[];
let probed: string[];
let looks: number;
let milliseconds: number;

/** A table that is found as these say, one after the other, and at last always as the last one says. */
function tableFound(...results: readonly (Found | DependencyUnavailable)[]): OptionalTable {
  const runner = {
    run: async <Row>() => {
      const result = results[Math.min(looks, results.length - 1)];
      looks += 1;
      if (result instanceof Error) throw result;
      return [result as Row];
    },
    alsoProbe: (table: string) => void probed.push(table),
  };
  return new OptionalTable(
    'client_secrets',
    runner,
    (line) => lines.push(line),
    () => milliseconds,
  );
}

describe('OptionalTable', () => {
  beforeEach(() => {
    [lines, probed, looks, milliseconds] = [[], [], 0, 0];
  });

  it.each([
    ['is used and probed if it is there', READABLE, true, ['client_secrets']],
    ['is not used if it is missing', MISSING, false, []],
  ])('%s, and looked for once', async (_what, found, expected, expectedProbes) => {
    const table = tableFound(found);
    for (let count = 0; count < 3; count += 1) {
      expect(await table.isUsable()).toBe(expected);
      milliseconds += 60_000;
    }
    expect({ looks, probed, lines }).toEqual({ looks: 1, probed: expectedProbes, lines: [] });
  });

  it('is unavailable while it may not be read, and is looked at again every five seconds', async () => {
    const table = tableFound(UNREADABLE, UNREADABLE, READABLE);
    for (const at of [0, 4_999, 5_000, 9_999]) {
      milliseconds = at;
      await expect(table.isUsable()).rejects.toThrow(DependencyUnavailable);
    }
    expect({ looks, probed, lines }).toMatchObject({ looks: 2, probed: [], lines: [{ event: 'table_unusable' }] });
    milliseconds = 10_000;
    expect(await table.isUsable()).toBe(true);
    expect(probed).toEqual(['client_secrets']);
  });

  it('is looked for again after an outage of the database, and reported after it', async () => {
    const table = tableFound(OUTAGE, UNREADABLE);
    await expect(table.isUsable()).rejects.toBe(OUTAGE);
    await expect(table.isUsable()).rejects.toThrow('table client_secrets');
    expect(lines).toEqual([{ event: 'table_unusable', problem: expect.stringContaining('may not read') }]);
  });

  it('is looked for once by requests at the same time', async () => {
    const table = tableFound(READABLE);
    await Promise.all([table.isUsable(), table.isUsable(), table.isUsable()]);
    expect({ looks, probed }).toEqual({ looks: 1, probed: ['client_secrets'] });
  });
});
