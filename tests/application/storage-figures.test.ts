import { describe, expect, it } from '@jest/globals';
import { readCosts } from '../../application/storage-figures.ts';
import { until } from '../support/until.ts';

describe('the costs of stored secrets', () => {
  it('reads the costs before it resolves, and not again', async () => {
    const found: (readonly number[])[] = [];
    let asked = 0;
    const find = async () => {
      asked += 1;
      return [10, 12];
    };
    await readCosts(find, (them) => found.push(them), 1).start();
    expect({ found, asked }).toEqual({ found: [[10, 12]], asked: 1 });
  });

  it('tries again until it can read them, and stops then', async () => {
    const answers = [undefined, undefined, [12]];
    const found: (readonly number[])[] = [];
    await readCosts(
      async () => answers.shift(),
      (them) => found.push(them),
      1,
    ).start();
    expect(found).toEqual([]);
    await until(() => found.length > 0, 'the costs are found');
    expect({ found, answers }).toEqual({ found: [[12]], answers: [] });
  });

  it('does not try again when it is closed', async () => {
    let asked = 0;
    const answer = Promise.withResolvers<undefined>();
    const find = () => {
      asked += 1;
      return answer.promise;
    };
    const reading = readCosts(find, () => {}, 0);
    const started = reading.start();
    reading.close();
    answer.resolve(undefined);
    await started;
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(asked).toBe(1);
  });
});
