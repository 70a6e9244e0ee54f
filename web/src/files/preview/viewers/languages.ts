import type { LanguageInput } from 'shiki/core'

type Load = () => Promise<{ default: LanguageInput }>

/** Each is loaded only when a file of it is opened. */
const languages = {
  c: () => import('@shikijs/langs/c'),
  cpp: () => import('@shikijs/langs/cpp'),
  csharp: () => import('@shikijs/langs/csharp'),
  css: () => import('@shikijs/langs/css'),
  diff: () => import('@shikijs/langs/diff'),
  docker: () => import('@shikijs/langs/docker'),
  go: () => import('@shikijs/langs/go'),
  graphql: () => import('@shikijs/langs/graphql'),
  html: () => import('@shikijs/langs/html'),
  ini: () => import('@shikijs/langs/ini'),
  java: () => import('@shikijs/langs/java'),
  javascript: () => import('@shikijs/langs/javascript'),
  json: () => import('@shikijs/langs/json'),
  kotlin: () => import('@shikijs/langs/kotlin'),
  make: () => import('@shikijs/langs/make'),
  markdown: () => import('@shikijs/langs/markdown'),
  php: () => import('@shikijs/langs/php'),
  python: () => import('@shikijs/langs/python'),
  ruby: () => import('@shikijs/langs/ruby'),
  rust: () => import('@shikijs/langs/rust'),
  scss: () => import('@shikijs/langs/scss'),
  shellscript: () => import('@shikijs/langs/shellscript'),
  sql: () => import('@shikijs/langs/sql'),
  toml: () => import('@shikijs/langs/toml'),
  tsx: () => import('@shikijs/langs/tsx'),
  typescript: () => import('@shikijs/langs/typescript'),
  xml: () => import('@shikijs/langs/xml'),
  yaml: () => import('@shikijs/langs/yaml'),
} satisfies Record<string, Load>

export type CodeLanguage = keyof typeof languages

export function loadLanguage(language: CodeLanguage): ReturnType<Load> {
  return languages[language]()
}

const byEnding: Readonly<Record<string, CodeLanguage>> = {
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
export function languageOf(name: string): CodeLanguage | null {
  const lowerCase = name.toLowerCase()
  if (lowerCase === 'dockerfile') return 'docker'
  if (lowerCase === 'makefile') return 'make'
  const ending = lowerCase.slice(lowerCase.lastIndexOf('.') + 1)
  return Object.hasOwn(byEnding, ending) ? (byEnding[ending] ?? null) : null
}

/** A part of a line in one color. */
export interface Token {
  text: string
  /** A CSS color; undefined for that of the page. */
  color: string | undefined
}
