import { execFileSync } from 'node:child_process';

/**
 * What may be in the root of the repository. Another name is a decision; most files belong into one of these folders.
 */
const ROOT_NAMES = [
  ...['domain', 'application', 'adapters', 'config', 'tests', 'lab', 'docs', 'deploy', 'examples'],
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'LICENSE'],
  ...['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'tsconfig.build.json'],
  'jest.config.js',
  ...['biome.json', '.dependency-cruiser.mjs', '.editorconfig', '.gitignore', '.ci'],
  ...['Dockerfile', '.dockerignore', 'docker-compose.yml'],
];

/**
 * `npm run check`: fails with each name in the root of the repository here that is not on the list, unless Git ignores
 * it.
 */
if (import.meta.main) {
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  const names = new Set(files.split('\0').flatMap((file) => file.split('/', 1)));
  const unlisted = [...names].filter((name) => name !== '' && !ROOT_NAMES.includes(name));
  for (const name of unlisted) {
    process.stderr.write(`${name}: is not on the list of tests/architecture/top-level-names.ts: move it to a folder\n`);
  }
  if (unlisted.length > 0) process.exitCode = 1;
}
