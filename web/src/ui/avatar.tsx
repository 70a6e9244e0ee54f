/** The initials of a person, in a color that stays the same for the same person. */
export function Avatar({ name }: { name: string }) {
  const [person = ''] = name.split('@', 1)
  const words = person.split(/[\s._-]+/).filter(Boolean)
  const ends = words.filter((_, index) => index === 0 || index === words.length - 1)
  const initials = ends
    .map(word => [...word][0])
    .join('')
    .toUpperCase()
  const hue = [...name].reduce((sum, character) => (sum * 31 + (character.codePointAt(0) ?? 0)) % 360, 7)
  return (
    // The style sheet shows the initials, so that they are no text of the page.
    <span
      className="avatar"
      aria-hidden="true"
      data-initials={initials}
      style={{ background: `hsl(${hue} 45% 36%)` }}
    />
  )
}
