/** Milliseconds of the processor, all of this process: on a busy machine the clock tells of others. */
export async function cost<T>(work: () => Promise<T>): Promise<[T, number]> {
  const begin = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(begin)
  return [result, (user + system) / 1000]
}
