/** A part of a line in one color. */
export interface Token {
  text: string
  /** A CSS color; undefined for that of the page. */
  color: string | undefined
}
