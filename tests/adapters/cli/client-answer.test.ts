import { describe, expect, it } from '@jest/globals';
import { listAnswer } from '../../../adapters/cli/client-answer.ts';
import type { ManagedClient } from '../../../application/clients/managed-client.ts';

const CLIENT: ManagedClient = {
  id: '1',
  clientId: 'billing',
  clientName: 'Billing',
  scope: 'read',
  state: 'enabled',
  bcryptCost: 10,
  problem: null,
};

describe('a list of many clients', () => {
  it('repeats the heading every thousand rows, and shows every client', () => {
    const clients = Array.from({ length: 2_001 }, (_, number) => ({ ...CLIENT, id: String(number) }));
    const lines = listAnswer(clients).text().split('\n');
    expect(lines.filter((line) => line.includes('client_id'))).toHaveLength(3);
    expect(lines.filter((line) => line.includes('billing'))).toHaveLength(2_001);
  });
});
