import type { Entry } from '../operations.ts'

export type PreviewKind = 'image' | 'video' | 'audio' | 'pdf' | 'text'

const textual =
  /\.(?:txt|md|markdown|log|csv|tsv|json|jsonl|ya?ml|toml|ini|conf|cfg|env|xml|html?|svg|css|scss|[cm]?[jt]sx?|py|rb|go|rs|java|kt|c|h|cc|cpp|hpp|cs|php|sh|bash|zsh|sql|graphql|proto|tex|diff|patch|lock|gitignore)$/i
const textualType =
  /^(?:text\/|application\/(?:json|xml|yaml|toml|javascript|sql|graphql|x-sh|x-yaml|[\w.-]+\+(?:json|xml))\b)/
const named = /^(?:readme|licen[cs]e|makefile|dockerfile|changelog)$/i

/** How a file can be shown; null is not at all. Pictures that can run script are shown as text. */
export function previewKind(entry: Entry): PreviewKind | null {
  if (entry.__typename !== 'File') return null
  const type = entry.mimeType?.toLowerCase() ?? ''
  if (/^image\/(?!svg|tiff|heic|vnd)/.test(type)) return 'image'
  if (type.startsWith('video/') && !/\.ts$/i.test(entry.name)) return 'video'
  if (type.startsWith('audio/')) return 'audio'
  if (type.startsWith('application/pdf')) return 'pdf'
  return textualType.test(type) || type === 'image/svg+xml' || textual.test(entry.name) || named.test(entry.name)
    ? 'text'
    : null
}
