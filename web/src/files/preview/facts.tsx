/** Names and values. Values that are null are left out. */
export function Facts({ facts }: { facts: readonly (readonly [title: string, text: string | null])[] }) {
  return (
    <dl>
      {facts.map(
        ([title, text]) =>
          text !== null && (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{text}</dd>
            </div>
          ),
      )}
    </dl>
  )
}
