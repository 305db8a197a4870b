import type { Command, Project } from './installed-project.ts';

/** Compiles the project, and runs the class in `exec.mainClass`. */
const MAVEN: Command = ['mvn', '-q', '-B', 'compile', 'org.codehaus.mojo:exec-maven-plugin:3.5.1:java'];

export const PYTHON: Project = {
  name: 'Python',
  folder: 'python',
  tools: ['python3', '-m', 'venv', '--help'],
  install: [
    ['python3', '-m', 'venv', 'venv'],
    ['venv/bin/pip', 'install', '-q', '-r', 'requirements.txt'],
  ],
};

export const GO: Project = {
  name: 'Go',
  folder: 'go',
  tools: ['go', 'version'],
  install: [['go', 'mod', 'download']],
};

export const MCP_PYTHON: Project = { ...PYTHON, name: 'Python, MCP', folder: 'mcp-python' };

export const MCP_GO: Project = { ...GO, name: 'Go, MCP', folder: 'mcp-go' };

export const RUST_CLIENT: Project = {
  name: 'Rust, oauth2',
  folder: 'rust-oauth2',
  tools: ['cargo', '--version'],
  install: [['cargo', 'fetch', '--quiet']],
};

export const RUST_VERIFIER: Project = { ...RUST_CLIENT, name: 'Rust, jsonwebtoken', folder: 'rust-jsonwebtoken' };

/** A project whose classes are run with `exec.mainClass`. */
type MavenProject = Project & { readonly compile: Command };

export const SPRING: MavenProject = {
  name: 'Java, Spring Security',
  folder: 'spring',
  tools: ['mvn', '--version'],
  install: [['mvn', '-q', '-B', 'dependency:resolve']],
  compile: MAVEN,
};

export const SPRING_VERIFIER: MavenProject = { ...SPRING, folder: 'spring-verifier' };

export const KAFKA: MavenProject = {
  ...SPRING,
  name: 'Java, Kafka and Strimzi',
  folder: 'kafka',
};

export const NODE: Project = {
  name: 'Node.js, client-oauth2',
  folder: 'node',
  tools: ['npm', '--version'],
  install: [['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts']],
};

/** Version 1 of the MCP SDK; version 2 is a package of the main suite. */
export const MCP_NODE: Project = { ...NODE, name: 'Node.js, MCP SDK 1', folder: 'mcp-node' };

/** The gem is not installed: the project uses the one of the machine. */
export const RUBY: Project = {
  name: 'Ruby, oauth2',
  folder: 'ruby',
  tools: ['ruby', '-e', 'require "oauth2"'],
  install: [],
};
