import { fileURLToPath } from 'node:url';

// Changes the code of one folder, and runs the tests of that folder only, for each change those that reach it.
const FOLDER = process.env['MUTATED_FOLDER'];

export default {
  mutate: [`${FOLDER}/**/*.ts`],
  testRunner: 'jest',
  // The absolute path, since the packages are not dependencies of the project.
  plugins: [fileURLToPath(import.meta.resolve('@stryker-mutator/jest-runner'))],
  testRunnerNodeArgs: ['--experimental-vm-modules', '--no-warnings'],
  jest: { projectType: 'custom', configFile: 'tests/mutation/jest.config.js', enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  timeoutMS: 10_000,
  reporters: ['progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: `tests/mutation/report/${FOLDER}.json` },
  ignorePatterns: ['biome.json', 'docs', 'deploy', 'dist', 'tests/mutation/report'],
};
