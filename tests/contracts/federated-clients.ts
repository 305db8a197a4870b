import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FEDERATED_CANDIDATES_MAX, type FederatedClients } from '../../application/ports/federated-clients.ts';
import type { FederatedSubject } from '../../domain/client-details.ts';

/** Rules of which none is there yet, and the ways in which they come and go. */
interface FederatedClientsUnderTest {
  readonly clients: FederatedClients;
  /** Registers a client with a rule for each subject. */
  add(clientId: string, subjects: readonly FederatedSubject[]): Promise<void>;
  close(): Promise<void>;
}

const RULE: FederatedSubject = { issuer: 'https://issuer.test', subject: 'workload', claims: { '/a~1b': 'c "d"' } };

/** What every FederatedClients promises. `fresh` gives an empty one. */
export function describeFederatedClients(name: string, fresh: () => Promise<FederatedClientsUnderTest>): void {
  describe(`${name} as FederatedClients`, () => {
    let under: FederatedClientsUnderTest;
    beforeEach(async () => {
      under = await fresh();
    });
    afterEach(() => under.close());

    const find = (subject: string, clientId?: string, issuer = RULE.issuer) =>
      under.clients.findBySubject({ issuer, subject, clientId });
    const idsOf = async (...args: Parameters<typeof find>) => (await find(...args)).map(({ clientId }) => clientId);

    test('finds nobody if there is no rule', async () => {
      expect(await find('workload')).toEqual([]);
    });

    test('finds a client by a rule, with its registration and its conditions', async () => {
      await under.add('billing', [RULE]);
      const [candidate, ...others] = await find('workload');
      expect(others).toEqual([]);
      expect(candidate).toMatchObject({ clientId: 'billing', claims: RULE.claims, lookup: { kind: 'found' } });
      expect(candidate?.lookup.kind === 'found' && candidate.lookup.registration.clientId).toBe('billing');
    });

    test('finds every client of a subject in the order of ids, or the one that is named', async () => {
      for (const clientId of ['b', 'a', 'B', 'é']) await under.add(clientId, [{ ...RULE, claims: { '/x': clientId } }]);
      await under.add('other', [{ ...RULE, subject: 'other' }]);
      expect(await idsOf('workload')).toEqual(['B', 'a', 'b', 'é']);
      expect(await find('workload', 'b')).toMatchObject([{ clientId: 'b', claims: { '/x': 'b' } }]);
      for (const clientId of ['other', 'c', 'A', 'b ', '', '\0', '%']) {
        if (clientId !== '') expect(await find('workload', clientId)).toEqual([]);
      }
    });

    test('finds a client by each of its subjects', async () => {
      await under.add('billing', [RULE, { ...RULE, subject: 'second', claims: {} }, { ...RULE, issuer: 'other' }]);
      expect(await find('second')).toMatchObject([{ clientId: 'billing', claims: {} }]);
      expect(await idsOf('workload', undefined, 'other')).toEqual(['billing']);
    });

    test.each([
      ['another case', 'Workload'],
      ['a space after', 'workload '],
      ['a part', 'work'],
      ['more', 'workload2'],
      ['a wildcard', '%'],
      ['another wildcard', 'workloa_'],
      ['a star', '*'],
      ['a NUL', 'workload\0'],
      ['half a surrogate pair', 'workload\ud800'],
      ['full-width letters', 'ｗorkload'],
      ['a quote', "workload'"],
      ['nothing', ''],
    ])('treats %s as another subject', async (_what, subject) => {
      await under.add('billing', [RULE]);
      await under.add('star', [{ ...RULE, subject: 'a*' }]);
      expect(await find(subject)).toEqual([]);
    });

    test.each(['https://issuer.test/', 'https://ISSUER.test', 'https://issuer.tes', '', '%', '\ud800', '\0'])(
      'treats "%s" as another issuer',
      async (issuer) => {
        await under.add('billing', [RULE]);
        expect(await find('workload', undefined, issuer)).toEqual([]);
      },
    );

    test('distinguishes the replacement character from half a surrogate pair', async () => {
      await under.add('billing', [{ ...RULE, subject: '\ufffd' }]);
      expect(await idsOf('\ufffd')).toEqual(['billing']);
      expect(await idsOf('\ud800')).toEqual([]);
    });

    test('finds no more clients than the limit', async () => {
      const ids = Array.from(
        { length: FEDERATED_CANDIDATES_MAX + 2 },
        (_, n) => `client-${String(n).padStart(2, '0')}`,
      );
      for (const clientId of ids) await under.add(clientId, [RULE]);
      expect(await idsOf('workload')).toEqual(ids.slice(0, FEDERATED_CANDIDATES_MAX));
      expect(await idsOf('workload', ids.at(-1))).toEqual(ids.slice(-1));
    });
  });
}
