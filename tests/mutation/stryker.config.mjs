// The tests of these two folders, and no others, have to notice each change of the code in them.
export default {
  mutate: ['domain/**/*.ts', 'application/**/*.ts'],
  testRunner: 'jest',
  plugins: [new URL('./node_modules/@stryker-mutator/jest-runner/dist/src/index.js', import.meta.url).pathname],
  testRunnerNodeArgs: ['--experimental-vm-modules', '--no-warnings'],
  jest: { projectType: 'custom', configFile: 'tests/mutation/jest.config.js', enableFindRelatedTests: false },
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  concurrency: 2,
  timeoutMS: 10_000,
  reporters: ['progress', 'clear-text', 'json'],
  clearTextReporter: { reportTests: false, allowColor: false, logTests: false },
  jsonReporter: { fileName: 'tests/mutation/report/mutation.json' },

  ignorePatterns: ['docs', 'deploy', 'dist', 'tests/mutation/report'],
};
