import type { ReportDocument } from "./document";

/** Reads the document out of the page: base64 of zlib-deflated JSON. Rejects with a sentence to show. */
export async function loadDocument(): Promise<ReportDocument> {
  const text = document.getElementById("ergometer-data")?.textContent?.trim() ?? "";
  if (text === "" || text.startsWith("<!--")) {
    throw new Error("This page holds no report. `ergometer report RUN -o report.html` writes one that does.");
  }
  const letters = atob(text);
  const packed = new Uint8Array(letters.length);
  // A loop over an index: an iterator over letters takes half a second for a study.
  for (let i = 0; i < letters.length; ++i) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const report = JSON.parse(await new Response(stream).text()) as ReportDocument;
  if (report.schema_version !== 1) {
    throw new Error(`This page reads documents of version 1; this one has version ${report.schema_version}.`);
  }
  return report;
}
