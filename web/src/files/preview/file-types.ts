import type { Language } from './languages.ts'

export type PreviewKind = 'image' | 'video' | 'audio' | 'pdf' | 'table' | 'text'

/** An entry as far as its name and type tell what it holds. */
export type TypedEntry =
  | { __typename: 'Folder'; name: string }
  | { __typename: 'File'; name: string; mimeType: string | null }

const textExtension =
  /\.(?:txt|md|markdown|log|json|jsonl|ya?ml|toml|ini|conf|cfg|env|xml|html?|svg|css|scss|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|sh|bash|zsh|sql|graphql|proto|tex|diff|patch|lock|gitignore)$/i
const textType =
  /^(?:text\/|application\/(?:json|xml|yaml|toml|javascript|sql|graphql|x-sh|x-yaml|[\w.-]+\+(?:json|xml))\b)/
const textFileName = /^(?:readme|licen[cs]e|makefile|dockerfile|changelog)$/i

/** Returns how a file can be previewed; null if it cannot. Images that can run scripts are shown as text. */
export function previewKind(entry: TypedEntry): PreviewKind | null {
  if (entry.__typename !== 'File') return null
  const type = entry.mimeType?.toLowerCase() ?? ''
  if (/^image\/(?!svg|tiff|heic|vnd)/.test(type)) return 'image'
  if (type.startsWith('video/') && !/\.ts$/i.test(entry.name)) return 'video'
  if (type.startsWith('audio/')) return 'audio'
  if (type.startsWith('application/pdf')) return 'pdf'
  if (/\.(?:csv|tsv)$/i.test(entry.name) || /^text\/(?:csv|tab-separated-values)\b/.test(type)) return 'table'
  return textType.test(type) ||
    type === 'image/svg+xml' ||
    textExtension.test(entry.name) ||
    textFileName.test(entry.name)
    ? 'text'
    : null
}

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
