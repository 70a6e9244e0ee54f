/** Decides by the name of a file whether its text is searched, and how it is read. */
import type { TextKind } from './extractor/protocol.ts'

const extensions: Record<TextKind, string> = {
  text: `txt text md markdown mdown rst adoc org tex bib log csv tsv json jsonl ndjson yaml yml toml ini cfg conf properties env xml
    svg rss atom srt vtt ics vcf diff patch sql sh bash zsh fish ps1 bat c h cc cpp cxx hpp cs java kt kts scala groovy go rs swift m
    mm js mjs cjs jsx ts mts cts tsx vue svelte css scss less py pyi rb php pl pm lua r jl dart ex exs erl hs ml fs clj lisp el vim
    tf hcl proto graphql gql cmake mk gradle dockerfile nix`,
  html: 'html htm xhtml',
  pdf: 'pdf',
  office: 'docx docm dotx xlsx xlsm xltx pptx pptm ppsx potx odt ott ods ots odp otp',
  mail: 'eml',
  image: 'png jpg jpeg tif tiff webp',
}

const byExtension = new Map(
  Object.entries(extensions).flatMap(([kind, list]) =>
    list.split(/\s+/).map(each => [each, kind as TextKind] as const),
  ),
)
/** Names of text files that have no extension. */
const names = new Set(['readme', 'license', 'copying', 'changelog', 'authors', 'makefile', 'dockerfile', 'notice'])

/** Returns how a file of this name is read; null if the text of such files is not searched. */
export function textKindOf(name: string): TextKind | null {
  const lower = name.toLowerCase()
  const dot = lower.lastIndexOf('.')
  if (dot <= 0) return names.has(lower) ? 'text' : null
  return byExtension.get(lower.slice(dot + 1)) ?? null
}

/** Bytes. Text is read up to this number, and larger files of another kind are not read. */
export const maxBytes: Record<TextKind, number> = {
  text: 2 * 1024 * 1024,
  html: 8 * 1024 * 1024,
  pdf: 32 * 1024 * 1024,
  office: 32 * 1024 * 1024,
  mail: 32 * 1024 * 1024,
  image: 32 * 1024 * 1024,
}
