import suite from './jest.config.js';

// Clients and verifiers in other languages. Their packages are installed into temporary folders, so this needs a network.
export default {
  ...suite,
  testMatch: ['**/tests/interoperation/**/*.interop.ts'],
  maxWorkers: 1,
  testTimeout: 900_000,
};
