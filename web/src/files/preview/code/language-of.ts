import type { Language } from './languages.ts'

const byEnding: Readonly<Record<string, Language>> = {
  bash: 'shellscript',
  c: 'c',
  cc: 'cpp',
  cfg: 'ini',
  cjs: 'javascript',
  conf: 'ini',
  cpp: 'cpp',
  cs: 'csharp',
  css: 'css',
  cts: 'typescript',
  diff: 'diff',
  go: 'go',
  graphql: 'graphql',
  h: 'c',
  hpp: 'cpp',
  htm: 'html',
  html: 'html',
  ini: 'ini',
  java: 'java',
  js: 'javascript',
  json: 'json',
  jsonl: 'json',
  jsx: 'tsx',
  kt: 'kotlin',
  mjs: 'javascript',
  mts: 'typescript',
  patch: 'diff',
  php: 'php',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  scss: 'scss',
  sh: 'shellscript',
  sql: 'sql',
  svg: 'xml',
  toml: 'toml',
  ts: 'typescript',
  tsx: 'tsx',
  xml: 'xml',
  yaml: 'yaml',
  yml: 'yaml',
  zsh: 'shellscript',
}

/** Returns the language of a file; null for plain text. */
export function languageOf(name: string): Language | null {
  const lowerCase = name.toLowerCase()
  if (lowerCase === 'dockerfile') return 'docker'
  if (lowerCase === 'makefile') return 'make'
  const ending = lowerCase.slice(lowerCase.lastIndexOf('.') + 1)
  return Object.hasOwn(byEnding, ending) ? (byEnding[ending] ?? null) : null
}
