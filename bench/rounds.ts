/**
 * Measures all contestants in turn, in reverse order every second round, so that other load affects all alike. An additional
 * first round only warms up.
 */
export async function interleave<Name extends string>(
  rounds: number,
  contestants: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(contestants) as Name[]
  const figures = Object.fromEntries(names.map(name => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figure = await contestants[name]()
      if (round > 0) figures[name].push(figure)
    }
  }
  return figures
}
