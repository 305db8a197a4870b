import { describe, expect, it } from '@jest/globals';
import { StoredCosts } from '../../../adapters/postgres/stored-costs.ts';
import { until } from '../../support/until.ts';

describe('StoredCosts', () => {
  it('reads the costs before it resolves, and not again', async () => {
    const found: (readonly number[])[] = [];
    let asked = 0;
    const costs = new StoredCosts(async () => {
      asked += 1;
      return [10, 12];
    });
    await costs.start((them) => found.push(them), 1);
    costs.close();
    expect({ found, asked }).toEqual({ found: [[10, 12]], asked: 1 });
  });

  it('tries again until it can read them, and stops then', async () => {
    const answers = [undefined, undefined, [12]];
    const found: (readonly number[])[] = [];
    const costs = new StoredCosts(async () => answers.shift());
    await costs.start((them) => found.push(them), 1);
    expect(found).toEqual([]);
    await until(() => found.length > 0, 'the costs are found');
    expect({ found, answers }).toEqual({ found: [[12]], answers: [] });
    costs.close();
  });

  it('does not try again when it is closed', async () => {
    let asked = 0;
    const answer = Promise.withResolvers<undefined>();
    const costs = new StoredCosts(() => {
      asked += 1;
      return answer.promise;
    });
    const started = costs.start(() => {}, 0);
    costs.close();
    answer.resolve(undefined);
    await started;
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(asked).toBe(1);
  });
});
