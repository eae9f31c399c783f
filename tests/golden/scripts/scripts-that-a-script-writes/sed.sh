sed -e 's/$TP/2/' template.sh > job.sh
sed -i 's/bf16/fp16/' job.sh && chmod +x job.sh && ./job.sh
