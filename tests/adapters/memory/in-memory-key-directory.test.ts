import { InMemoryKeyDirectory } from '../../../adapters/memory/in-memory-key-directory.ts';
import { describeKeyDirectory } from '../../contracts/key-directory.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

describeKeyDirectory('InMemoryKeyDirectory', async () => {
  const clock = new FixedClock();
  return {
    directory: new InMemoryKeyDirectory(clock),
    async pass(seconds) {
      clock.advance(seconds);
    },
    async close() {},
  };
});
