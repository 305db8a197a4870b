import { GOOD_CLIENT } from '../../tests/support/running-service.ts';

/**
 * Claims of a client, in every form that an API reads: a text, a list as Argo CD expects it, and objects in three
 * levels.
 */
export const CLAIMS = {
  tenant: 'acme',
  groups: ['finance', 'audit'],
  plan: { name: 'gold', limits: { invoices: 100 } },
};

export const CLIENT_WITH_CLAIMS = { ...GOOD_CLIENT, claims: CLAIMS };
