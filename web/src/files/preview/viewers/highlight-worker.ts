/**
 * Colors program code beside the page, so that the regular expressions of a language never stop it. The server lets a worker
 * load nothing, so the page sends the language.
 */
import dark from '@shikijs/themes/github-dark-high-contrast'
import light from '@shikijs/themes/github-light-high-contrast'
import { createHighlighterCore, type LanguageInput } from 'shiki/core'
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript'
import type { CodeLanguage, Token } from './languages.ts'

/** Characters. A longer line, such as that of a minified file, has one color. */
const maxLineLength = 2000

export interface Code {
  text: string
  language: CodeLanguage
  grammar: LanguageInput
}

async function highlight({ text, language, grammar }: Code): Promise<Token[][]> {
  const core = await createHighlighterCore({
    themes: [light, dark],
    langs: [grammar],
    // The content security policy permits no WebAssembly, so the regular expressions run as those of the browser.
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  const { tokens } = core.codeToTokens(text, {
    lang: language,
    themes: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    defaultColor: false,
    tokenizeMaxLineLength: maxLineLength,
    // The page has a deadline for the whole text.
    tokenizeTimeLimit: 0,
  })
  return tokens.map(line => line.map(({ content, htmlStyle = {} }) => ({ text: content, color: colorOf(htmlStyle) })))
}

function colorOf(style: Readonly<Record<string, string>>): string | undefined {
  const { '--shiki-light': light, '--shiki-dark': dark } = style
  return light && dark ? `light-dark(${light}, ${dark})` : undefined
}

self.addEventListener('message', async ({ data }: MessageEvent<Code>) => {
  self.postMessage(await highlight(data))
})
