/** The languages in which people can read Stowage, by their tags (BCP 47). */
export const languages = [
  'ar',
  'cs',
  'de',
  'en',
  'es',
  'fr',
  'he',
  'hi',
  'it',
  'ja',
  'ko',
  'nl',
  'pl',
  'pt',
  'tr',
  'uk',
  'zh-Hans',
  'zh-Hant',
] as const

export type Language = (typeof languages)[number]

/** Returns whether lines of the language begin at the right. */
export function isRightToLeft(tag: string): boolean {
  // TypeScript has no type of this method yet: https://github.com/tc39/proposal-intl-locale-info
  const locale = new Intl.Locale(tag) as Intl.Locale & { getTextInfo(): { direction?: 'ltr' | 'rtl' } }
  return locale.getTextInfo().direction === 'rtl'
}

export function isLanguage(tag: string | null): tag is Language {
  return languages.some(each => each === tag)
}
