import { text } from 'node:stream/consumers';
import * as echarts from 'echarts';

// Takes { width, height, option } as JSON on standard input, writes the chart as SVG to standard output.
const { width, height, option } = JSON.parse(await text(process.stdin));
const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height });
chart.setOption({ ...option, animation: false });
process.stdout.write(`${chart.renderToSVGString()}\n`);
chart.dispose();
