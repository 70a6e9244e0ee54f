/**
 * Each contestant's figures of `rounds` rounds, in turn, and in the other order every second round: what else the machine
 * does meanwhile meets all alike. One more round goes before, and only warms up.
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
