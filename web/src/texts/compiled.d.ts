/** The texts of `web/languages/<tag>.json`, which the build compiles into functions (`scripts/languages/compile.ts`). */
declare module 'language:*' {
  /** A text, a function that returns one, or texts by their names. */
  type Translation = string | ((...values: never[]) => unknown) | { readonly [name: string]: Translation }

  const make: (helpers: unknown) => Readonly<Record<string, Translation>>
  export default make
}
