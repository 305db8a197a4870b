import { fileURLToPath } from 'node:url';

// main.ts says which code is changed, and which tests are run: for each change those that reach it.
export default {
  testRunner: 'relevant-tests',
  // The absolute path, since the packages are not dependencies of the project.
  plugins: [fileURLToPath(import.meta.resolve('./relevant-tests-runner.mjs'))],
  testRunnerNodeArgs: ['--experimental-vm-modules', '--no-warnings'],
  jest: { projectType: 'custom', configFile: 'lab/mutation/jest.config.js', enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  // Longer than Jest's limit for a test: a busy machine is no reason to count a change as noticed.
  timeoutMS: 90_000,
  // Not true here: code that runs when a module is loaded is not run for every test.
  warnings: { slow: false },
  reporters: ['progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: 'lab/mutation/report/mutation.json' },
  ignorePatterns: ['biome.json', 'docs/images', 'deploy', 'dist', 'lab/mutation/report'],
};
