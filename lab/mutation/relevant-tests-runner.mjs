import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { strykerPlugins as jestPlugins } from '@stryker-mutator/jest-runner';
import { isInSample } from './sample.ts';

// Stryker's runner for Jest loads every test file for each change, even to skip its tests, and goes on after a test has
// failed. This one runs the test files one at a time, only those that reach the change, and stops at the first that
// fails.

/** In the directory of the run, which all its processes share: the files of each test, and how long each file takes. */
const TESTS = 'tests.json';

/** Of the changes, which are tried. */
const SHARE = Number(process.env['MUTATION_SHARE'] ?? 1);

class RelevantTestsRunner {
  #jest;
  #selected;
  #tests;
  #imports = new Map();

  constructor(jest) {
    this.#jest = jest;
    // Neither an option nor a public method of the runner selects test files.
    const run = jest.run.bind(jest);
    jest.run = (settings) => run({ ...settings, testFiles: this.#selected ?? settings.testFiles });
  }

  capabilities() {
    return this.#jest.capabilities();
  }

  init() {
    return this.#jest.init();
  }

  /** All tests, without a change. Notes which file has which test: files may have tests of the same name. */
  async dryRun(options) {
    const result = await this.#jest.dryRun(options);
    const filesOf = {};
    const durations = {};
    for (const { id, fileName, timeSpentMs } of result.tests ?? []) {
      filesOf[id] = [...(filesOf[id] ?? []), fileName];
      durations[fileName] = (durations[fileName] ?? 0) + timeSpentMs;
    }
    writeFileSync(TESTS, JSON.stringify({ filesOf, durations }));
    return result;
  }

  async mutantRun(options) {
    if (!isInSample(options.activeMutant.id, SHARE)) return { status: 'error', errorMessage: 'not in the sample' };
    let nrOfTests = 0;
    for (const file of this.#relevantFiles(options)) {
      this.#selected = [file];
      const result = await this.#jest.mutantRun(options);
      nrOfTests += result.nrOfTests ?? 0;
      if (result.status !== 'survived') return { ...result, nrOfTests };
    }
    return { status: 'survived', nrOfTests };
  }

  /**
   * The tests of the changed file come first, then those of its folder, then the shortest. Code that runs when a module
   * is loaded has no tests of its own: every importer counts.
   */
  #relevantFiles({ testFilter, sandboxFileName }) {
    this.#tests ??= JSON.parse(readFileSync(TESTS, 'utf8'));
    const { filesOf, durations } = this.#tests;
    const files =
      testFilter === undefined
        ? Object.keys(durations).filter((file) => this.#reaches(file, sandboxFileName, new Set()))
        : testFilter.flatMap((test) => filesOf[test]);
    const own = basename(sandboxFileName, '.ts');
    const folder = basename(dirname(sandboxFileName));
    const rank = (file) => (basename(file, '.test.ts') === own ? 0 : basename(dirname(file)) === folder ? 1 : 2);
    const order = (one, other) => rank(one) - rank(other) || durations[one] - durations[other];
    return [...new Set(files)].sort(order);
  }

  #reaches(file, target, seen) {
    if (file === target) return true;
    if (seen.has(file)) return false;
    seen.add(file);
    return this.#importsOf(file).some((imported) => this.#reaches(imported, target, seen));
  }

  #importsOf(file) {
    let imports = this.#imports.get(file);
    if (imports === undefined) {
      const found = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type\b)[^;]*?from ["'](\.[^"']+)["']/gm);
      imports = Array.from(found, ([, path]) => resolve(dirname(file), path));
      this.#imports.set(file, imports);
    }
    return imports;
  }
}

const [{ kind, factory: createJestRunner }] = jestPlugins;

createRunner.inject = ['$injector'];
function createRunner(injector) {
  return new RelevantTestsRunner(injector.injectFunction(createJestRunner));
}

export const strykerPlugins = [{ kind, name: 'relevant-tests', factory: createRunner }];
