import { InMemoryKeyDirectory } from '../../../adapters/memory/in-memory-key-directory.ts';
import { describeKeyDirectory } from '../../contracts/key-directory.ts';

describeKeyDirectory('InMemoryKeyDirectory', async () => ({
  directory: new InMemoryKeyDirectory(),
  async close() {},
}));
